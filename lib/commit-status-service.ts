import { stat } from 'node:fs/promises'
import type { AccessPolicy } from './access.js'
import { GrantPolicy } from './auth/grants.js'
import { MemoryFailureBudget } from './auth/memory-failure-budget.js'
import { Tokens } from './auth/tokens.js'
import { systemClock, type Clock } from './clock.js'
import { CommitFinder } from './git/commit-finder.js'
import { RepositoryFolder } from './git/repository-folder.js'
import { Authentication } from './http/authentication.js'
import { clientAddresses } from './http/client-address.js'
import { createHandler, type Handler } from './http/handler.js'
import { silentLogger, type Logger } from './logger.js'
import { StatusService } from './service.js'
import { StartError } from './start-error.js'
import { openStore } from './store/open-store.js'
import type { Store } from './store/store.js'

/** Options of the library; their names are those of the settings. */
export interface CommitStatusOptions {
  /** Folder of the bare repositories, `<owner>/<repo>.git`. */
  readonly repositories: string
  /** `level:` and a folder, or a store. */
  readonly store: string | Store
  readonly trustedProxies?: readonly string[]
  readonly tokenPrefix?: string
  readonly authFailures?: { readonly limit?: number; readonly windowSeconds?: number }
  readonly logger?: Logger
  readonly clock?: Clock
}

/** A running service: the parts, put together. */
export interface CommitStatusService {
  readonly handler: Handler
  readonly tokens: Tokens
  readonly store: Store
  readonly repositories: RepositoryFolder
  /** `undefined` when reports are accepted, else the reason. */
  trouble(): string | undefined
  /** Finishes what was accepted, then closes the store. */
  close(): Promise<void>
}

/**
 * Puts a service together.
 * @throws StartError when the repositories folder is missing; StoreLocked, StoreUnavailable
 */
export async function createCommitStatusService(options: CommitStatusOptions): Promise<CommitStatusService> {
  const { trustedProxies = [], tokenPrefix = 'cst', logger = silentLogger, clock = systemClock } = options
  const folder = await stat(options.repositories).catch(() => undefined)
  if (!folder?.isDirectory()) throw new StartError(`the repositories folder ${options.repositories} does not exist; make it, or name another one with the setting repositories (COMMIT_STATUS_REPOSITORIES)`)

  // Whatever may throw comes before the store, which would be left open.
  const clientAddress = clientAddresses(trustedProxies)
  const store = typeof options.store === 'string' ? await openStore(options.store) : options.store
  const repositories = new RepositoryFolder(options.repositories)
  const commits = new CommitFinder()
  const policy: AccessPolicy = new GrantPolicy(store.grants)
  const tokens = new Tokens({ store: store.tokens, prefix: tokenPrefix, clock, logger })
  const failures = new MemoryFailureBudget({ limit: 20, windowSeconds: 600, ...options.authFailures })
  const service = new StatusService({ repositories, commits, statuses: store.statuses, policy, clock, logger })
  const authentication = new Authentication({ authenticator: tokens, failures, clientAddress, logger })
  const trouble = () => store.trouble()

  return {
    handler: createHandler({ service, authentication, trouble, logger }),
    tokens,
    store,
    repositories,
    trouble,
    async close() {
      await tokens.close()
      await store.close()
      commits.close()
    },
  }
}
