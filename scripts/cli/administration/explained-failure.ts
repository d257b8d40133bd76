import { shellWord } from '../../../lib/admin/shell-word.js'
import { StartError, StoreUnavailable } from '../../../lib/errors.js'
import type { GivenSettings } from '../../../lib/stand-alone/settings.js'
import type { Io } from '../terminal/io.js'
import { looksLikeToken } from '../terminal/looks-like-token.js'
import { EXECUTABLE, pastedCommand } from './pasted-command.js'
import { userName } from './user-name.js'

/** The store is another user's, and no service has it open. */
export class OfOtherUser extends StoreUnavailable {
  override readonly name = 'OfOtherUser'

  constructor(
    readonly folder: string,
    readonly uid: number,
  ) {
    super(`the store ${folder} belongs to user ${uid} and no service is running: run this as that user`)
  }
}

/** Does work whose failure is explained: with lines to paste, and the setting that it is about. */
export async function explained<T>(io: Io, given: GivenSettings, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw await explainedFailure(io, given, error)
  }
}

async function explainedFailure(io: Io, given: GivenSettings, error: unknown): Promise<unknown> {
  if (error instanceof OfOtherUser) return await withUserLine(io, error)
  const nameOf = (key: string): string => `; the setting ${key} (${given.from.get(key) ?? 'default'}) names it`
  if (error instanceof StartError && error.message.startsWith('the repositories folder '))
    return new StartError(`${error.message}${nameOf('repositories')}`, { cause: error })
  if (!(error instanceof StoreUnavailable)) return error
  const message = error.message
    // The driver gives its code behind words that have it.
    .replace(/^(the database cannot be used: .*\b(\w+)\b.*), \2$/, '$1')
    .replace(/^the database cannot be used: .*/, (words) => `${words}${nameOf('store')}`)
    .replace(
      'node_modules/.bin/commit-status store migrate, with the same store',
      () => `${pastedCommand(io, given)} store migrate`,
    )
  return message === error.message ? error : new StoreUnavailable(message, { cause: error })
}

async function withUserLine(io: Io, error: OfOtherUser): Promise<StoreUnavailable> {
  const name = await userName(error.uid)
  if (name === undefined) return error
  const args = io.argv.slice(2).map((text) => shellWord(looksLikeToken(text) ? '-' : text))
  return new StoreUnavailable(
    `the store ${error.folder} belongs to ${name} and no service is running: run this as that user, with ` +
      ['runuser', '-u', name, '--', shellWord(EXECUTABLE), ...args].join(' '),
    { cause: error },
  )
}
