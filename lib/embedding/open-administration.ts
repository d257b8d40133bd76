import type { Administration } from '../admin/administration.js'
import { AuditedRepositories } from '../admin/audit-log.js'
import { localAdministration } from '../admin/local-administration.js'
import { Sessions } from '../auth/sessions.js'
import { Tokens } from '../auth/tokens.js'
import { CommitFinder } from '../git/commit-finder.js'
import { GitProcesses } from '../git/git-process.js'
import { Refs } from '../git/refs.js'
import { RepositoryFolder } from '../git/repository-folder.js'
import { systemClock, type Clock } from '../contracts/clock.js'
import { silentLogger, type Logger } from '../contracts/logger.js'
import { openSender } from './open-hooks.js'
import { openRights, type RightsSetting } from './open-rights.js'
import { openStore } from './open-store.js'
import type { CommitStatusOptions } from './options.js'

export interface OpenAdministration {
  readonly administration: Administration
  /** Finishes what was accepted, then closes the store. */
  close(): Promise<void>
}

/**
 * Administration of a store without a service: of a LevelDB store that nobody else has open, or of a database.
 * @param settings those of the service
 * @param dependencies.signInAddress what links to sign in begin with, where people sign in by links
 * @param dependencies.serviceAddress what other links begin with
 * @param dependencies.auditLogger where changes are logged
 * @param dependencies.storeLogger where the store says what is wrong with it
 * @param dependencies.stopping ends long tasks, with its reason
 * @throws StoreLocked, StoreUnavailable
 */
export async function openAdministration(
  settings: {
    readonly repositories: string
    readonly topOwner: string
    readonly store: string
    readonly tokenPrefix: string
    readonly limits: { readonly tokens: number }
    readonly rights?: RightsSetting
  } & Pick<CommitStatusOptions, 'hooks' | 'mail'>,
  dependencies: {
    auditLogger: Logger
    storeLogger?: Logger
    clock?: Clock
    stopping?: AbortSignal
    signInAddress?: string
    serviceAddress?: string
  },
): Promise<OpenAdministration> {
  const { auditLogger: logger, storeLogger = silentLogger, clock = systemClock, stopping, signInAddress } = dependencies
  const { serviceAddress: address = '' } = dependencies
  const store = await openStore(settings.store, storeLogger)
  const { tokenPrefix: prefix, limits } = settings
  const tokens = new Tokens({ store: store.tokens, prefix, maxTokens: limits.tokens, clock, logger: silentLogger })
  const commits = new CommitFinder()
  const folder = new RepositoryFolder(settings.repositories, settings)
  const rights = settings.rights && openRights(settings.rights, { folder, logger: storeLogger })
  const run = async <T>(change: () => Promise<T>): Promise<T> => await change()
  // Those in the memory of a service are not at hand here.
  const sessions = store.signIns && new Sessions(store.signIns, clock)
  const git = new GitProcesses({ logger: storeLogger })
  const refs = new Refs(git)
  const hooks = openSender(settings, {
    store,
    repositories: folder,
    refs,
    clock,
    logger: storeLogger,
    address: () => address,
    pagesBase: '',
  })
  const administration = localAdministration({
    store,
    ...(hooks && { hooks }),
    tokens,
    ...(sessions && signInAddress !== undefined && { signIns: { sessions, address: () => signInAddress } }),
    hasGrants: true,
    ...(rights && { rights }),
    audited: new AuditedRepositories({ changes: store, grants: store.grants, hooks: store.hooks, logger, run }),
    logger,
    clock,
    repositories: folder,
    commits,
    ...(stopping && { stopping }),
  })
  return {
    administration,
    async close() {
      rights?.close()
      commits.close()
      git.close()
      await tokens.close()
      await store.close()
    },
  }
}
