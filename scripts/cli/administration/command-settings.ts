import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { Io } from '../terminal/io.js'
import {
  readGivenSettings,
  readSettings,
  type GivenSettings,
  type Settings,
} from '../../../lib/stand-alone/settings.js'

/** Folder of the project. */
export const HOME = fileURLToPath(new URL('.', import.meta.resolve('commit-status-service/package.json')))

/** The settings file of a machine, read where it exists and no other is named. */
const USUAL_FILE = '/etc/commit-status/settings.json'

/** The settings of a command, the same as those of the service, and where they come from. */
export function givenSettings(io: Io, command: Command): GivenSettings {
  const { config } = command.optsWithGlobals<{ config?: string }>()
  return readGivenSettings({
    environment: io.env,
    home: HOME,
    directory: io.cwd(),
    ...(config !== undefined && { file: config }),
    usualFile: usualSettings(io),
  })
}

/** The settings file that is read where none is named. */
export function usualSettings({ usualSettings = USUAL_FILE }: Pick<Io, 'usualSettings'>): string {
  return usualSettings
}

export function settingsOf(io: Io, command: Command): Settings {
  return givenSettings(io, command).settings
}

/** Whether the repositories folder is the one that nobody chose: then it may be made. */
export function isDefaultFolder(settings: Settings): boolean {
  return settings.repositories === defaultSettings().repositories
}

/** What nobody chose. */
export function defaultSettings(): Settings {
  return readSettings({ environment: {}, home: HOME, directory: HOME })
}
