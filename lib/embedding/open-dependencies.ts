import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { defaultOf } from '../../config/settings.js'
import type { CommandPolicy } from '../auth/command-policy.js'
import { GrantPolicy } from '../auth/grants.js'
import { LogIns } from '../auth/log-ins.js'
import { MemoryFailureBudget } from '../auth/memory-failure-budget.js'
import { Tokens } from '../auth/tokens.js'
import { StartError } from '../errors.js'
import { RepositoryFolder } from '../git/repository-folder.js'
import type { AccessPolicy } from '../contracts/access-policy.js'
import type { Authenticator } from '../contracts/authenticator.js'
import type { CacheShares } from '../contracts/cache-shares.js'
import { systemClock, type Clock } from '../contracts/clock.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import type { FailureBudget, StoredFailureBudget } from '../contracts/failure-budget.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import type { Repositories } from '../contracts/repositories.js'
import type { WholeStore } from '../contracts/store.js'
import {
  guardAccessPolicy,
  guardAuthenticator,
  guardClock,
  guardFailureBudget,
  guardRepositories,
} from './guarded-parts.js'
import { guardStore } from './guarded-store.js'
import { openRights, type RightsSetting } from './open-rights.js'
import { openStore } from './open-store.js'
import type { CommitStatusOptions } from './options.js'

/** The parts of a service: those of the host behind a guard, ours in place of what it does not bring. */
export interface Dependencies {
  readonly repositories: MaybeSync<Repositories>
  /** Ours, where the host does not bring its own. */
  readonly folder: RepositoryFolder | undefined
  readonly store: WholeStore
  readonly failures: MaybeSync<FailureBudget>
  readonly authenticator: MaybeSync<Authenticator>
  /** In place of the two, where both are the store's. */
  readonly logIns: LogIns | undefined
  /** Those of the store, whether or not the service takes them. */
  readonly tokens: Tokens
  readonly policy: MaybeSync<AccessPolicy>
  /** The same, where a program of the git server tells rights. */
  readonly rights: CommandPolicy | undefined
  readonly clock: Clock
}

/**
 * @param setting of a service of its own
 * @param milliseconds how long a part of the host may take for one answer
 * @throws as `createCommitStatusService`, but for the options
 */
export async function openDependencies(
  options: CommitStatusOptions,
  setting: RightsSetting | undefined,
  logger: Logger,
  meter: Meter,
  milliseconds: number,
  shares: CacheShares,
): Promise<Dependencies> {
  const guard = (part: string) => ({ part, milliseconds })
  const { repositories: given, clock: time = systemClock } = options
  const clock = time === systemClock ? time : guardClock(time, logger)
  // What may throw comes before the store, which would be left open.
  const repositories =
    typeof given === 'string'
      ? await repositoryFolder(given, options.topOwner)
      : guardRepositories(given, guard('repositories'))
  const store =
    typeof options.store === 'string'
      ? await openStore(options.store, logger, meter, shares)
      : guardStore(options.store, guard('store'))
  const { tokenPrefix: prefix = defaultOf('tokenPrefix'), limits: { tokens: most = defaultOf('limits.tokens') } = {} } =
    options
  const tokens = new Tokens({ store: store.tokens, prefix, maxTokens: most, clock, logger })
  const folder = repositories instanceof RepositoryFolder ? repositories : undefined
  const rights = setting && folder && openRights(setting, { folder, logger, cacheBytes: shares.grants })
  const { authFailures } = options
  const { budget, shared } = isBudget(authFailures)
    ? { budget: guardFailureBudget(authFailures, guard('authFailures')) }
    : budgetsOf(store, authFailures)
  const policy = options.accessPolicy
    ? guardAccessPolicy(options.accessPolicy, guard('accessPolicy'))
    : (rights ?? new GrantPolicy(store.grants))
  return {
    repositories,
    folder,
    store,
    failures: shared ?? budget,
    authenticator: options.authenticator ? guardAuthenticator(options.authenticator, guard('authenticator')) : tokens,
    logIns: shared && !options.authenticator ? new LogIns(shared, tokens, policy instanceof GrantPolicy) : undefined,
    tokens,
    policy,
    rights,
    clock,
  }
}

async function repositoryFolder(path: string, topOwner = defaultOf('topOwner')): Promise<RepositoryFolder> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) {
    throw new StartError(`the repositories folder ${resolve(path)} does not exist; make it, or name another one`)
  }
  return new RepositoryFolder(path, { topOwner })
}

function budgetsOf(
  store: WholeStore,
  {
    limit = defaultOf('authFailures.limit'),
    windowSeconds = defaultOf('authFailures.windowSeconds'),
  }: { limit?: number; windowSeconds?: number } = {},
): { readonly budget: MaybeSync<FailureBudget>; readonly shared?: StoredFailureBudget | undefined } {
  const budget = new MemoryFailureBudget({ limit, windowSeconds })
  return { budget, shared: store.failureBudget?.({ limit, windowSeconds }, budget) }
}

function isBudget(option: CommitStatusOptions['authFailures']): option is FailureBudget {
  return option !== undefined && 'retryAfter' in option
}
