import { join } from 'node:path'
import { shellWord } from '../../../lib/admin/shell-word.js'
import type { GivenSettings } from '../../../lib/stand-alone/settings.js'
import { withoutPassword } from '../../../lib/store/address.js'
import type { Io } from '../terminal/io.js'
import { HOME, usualSettings } from './command-settings.js'

/** The executable of this checkout. */
export const EXECUTABLE = join(HOME, 'scripts', 'commit-status')

/** What a command must be given as the service was, or it would work on another store. */
const NEEDED = ['repositories', 'store', 'tokenPrefix'] as const

/** The beginning of a command on what these settings name, for any folder and any shell; no password is in it. */
export function pastedCommand(io: Pick<Io, 'env' | 'usualSettings'>, { settings, file, from }: GivenSettings): string {
  const variables = NEEDED.flatMap((key) => {
    const name = from.get(key)
    return name === undefined || name === file ? [] : [`${name}=${valueOf(name, settings[key])}`]
  })
  // Named so as to have none: the file of the system is another's.
  const none = io.env['COMMIT_STATUS_CONFIG'] === '' && file === undefined ? ['COMMIT_STATUS_CONFIG='] : []
  const option = file === undefined || file === usualSettings(io) ? [] : ['--config', shellWord(file)]
  return [...none, ...variables, shellWord(EXECUTABLE), ...option].join(' ')
}

/** A shell that does not have a secret refuses, and names it. */
function valueOf(name: string, value: string): string {
  return withoutPassword(value) === value ? shellWord(value) : `"\${${name}:?must be as for the service}"`
}
