import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { readSettings, type Settings } from '../../../lib/stand-alone/settings.js'

/** Folder of the project: this file is compiled to build/scripts/cli/connection. */
const HOME = fileURLToPath(new URL('../../../..', import.meta.url))

/** The settings of a command: the same as those of the service. */
export function settingsOf(command: Command): Settings {
  const { config } = command.optsWithGlobals<{ config?: string }>()
  return readSettings({
    environment: process.env,
    home: HOME,
    directory: process.cwd(),
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
