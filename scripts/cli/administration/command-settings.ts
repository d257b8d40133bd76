import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { Io } from '../terminal/io.js'
import { readSettings, type Settings } from '../../../lib/stand-alone/settings.js'

/** Folder of the project. */
const HOME = fileURLToPath(new URL('.', import.meta.resolve('commit-status-service/package.json')))

/** The settings of a command: the same as those of the service. */
export function settingsOf(io: Io, command: Command): Settings {
  const { config } = command.optsWithGlobals<{ config?: string }>()
  return readSettings({
    environment: io.env,
    home: HOME,
    directory: io.cwd(),
    ...(config !== undefined && { file: config }),
  })
}

/** Whether the repositories folder is the one that nobody chose: then it may be made. */
export function isDefaultFolder(settings: Settings): boolean {
  return settings.repositories === defaultSettings().repositories
}

/** What nobody chose. */
export function defaultSettings(): Settings {
  return readSettings({ environment: {}, home: HOME, directory: HOME })
}
