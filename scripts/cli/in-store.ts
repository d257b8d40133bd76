import { stat } from 'node:fs/promises'
import { LocalAdministration, type Administration } from '../../lib/admin/administration.js'
import { Tokens } from '../../lib/auth/tokens.js'
import { systemClock } from '../../lib/clock.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { silentLogger, type Logger } from '../../lib/logger.js'
import type { Settings } from '../../lib/settings.js'
import { openStore } from '../../lib/store/open-store.js'
import { StoreUnavailable } from '../../lib/store/store.js'
import { changeLog } from './change-log.js'
import { visible } from './output.js'

/** Does what an admin asked for in the store itself, while no service has it open. */
export async function inStore<T>(settings: Settings, folder: string, use: (administration: Administration) => Promise<T>): Promise<T> {
  await refuseForeign(folder)
  const store = await openStore(settings.store, onStandardError)
  const tokens = new Tokens({ store: store.tokens, prefix: settings.tokenPrefix, clock: systemClock, logger: silentLogger })
  try {
    return await use(new LocalAdministration({ store, tokens, changes: store, logger: changeLog(folder), repositories: new RepositoryFolder(settings.repositories) }))
  } finally {
    await tokens.close()
    await store.close()
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
