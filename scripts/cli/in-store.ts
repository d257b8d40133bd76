import { stat } from 'node:fs/promises'
import { LocalAdministration } from '../../lib/admin/local-administration.js'
import { Tokens } from '../../lib/auth/tokens.js'
import { systemClock } from '../../lib/clock.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { silentLogger, type Logger } from '../../lib/logger.js'
import type { Settings } from '../../lib/settings.js'
import { openStore } from '../../lib/store/open-store.js'
import { StoreUnavailable } from '../../lib/store/store.js'
import { changeLog, changesOnStandardError } from './change-log.js'
import { Interruption } from './interruption.js'
import { visible } from './output.js'

/** Does what an admin asked for in the store itself, while no service has it open. */
export async function inStore<T>(settings: Settings, folder: string | undefined, use: (administration: LocalAdministration, interrupted: AbortSignal) => Promise<T>): Promise<T> {
  if (folder !== undefined) await refuseForeign(folder)
  const interruption = new Interruption()
  try {
    const store = await openStore(settings.store, onStandardError)
    const tokens = new Tokens({ store: store.tokens, prefix: settings.tokenPrefix, clock: systemClock, logger: silentLogger })
    const commits = new CommitFinder()
    const { signal } = interruption
    const parts = { store, tokens, changes: store, logger: folder === undefined ? changesOnStandardError : changeLog(folder), repositories: new RepositoryFolder(settings.repositories), commits, stopping: signal }
    try {
      return await use(new LocalAdministration(parts), signal)
    } finally {
      commits.close()
      await tokens.close()
      await store.close()
    }
  } finally {
    interruption.end()
  }
}

/** What an admin must know of the store is said beside what the command prints. */
const onStandardError: Logger = {
  ...silentLogger,
  error(facts, message) {
    console.error(`commit-status: ${message}`)
    if ('damage' in facts && Array.isArray(facts.damage)) for (const words of facts.damage) console.error(`  ${visible(String(words))}`)
  },
}

/** What root writes into the service's store, the service could not read any more. */
async function refuseForeign(folder: string): Promise<void> {
  const owner = await stat(folder).catch(() => undefined)
  if (owner && process.geteuid?.() === 0 && owner.uid !== 0) {
    throw new StoreUnavailable(`the store ${folder} belongs to user ${owner.uid} and no service is running: run this as that user`)
  }
}
