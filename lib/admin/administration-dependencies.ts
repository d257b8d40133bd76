import type { CommandPolicy } from '../auth/command-policy.js'
import type { Sessions } from '../auth/sessions.js'
import type { Tokens } from '../auth/tokens.js'
import { AdministrationError } from '../errors.js'
import type { Commits } from '../git/commits.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import type { HookSecrets, HookStore, Sender } from '../contracts/hooks.js'
import type { Pushes } from '../service/pushes.js'
import type { Deliverer } from '../webhooks/deliverer.js'
import { cancel, withSignal, type Task } from '../concurrency/task.js'
import type { Clock } from '../contracts/clock.js'
import type { Logger } from '../contracts/logger.js'
import type { TokenRecord } from '../contracts/records.js'
import type { StoreContents } from '../contracts/store-administration.js'
import type { WholeStore } from '../contracts/store.js'
import { limitsOf } from '../contracts/token-limits.js'
import { audit, type Actor, type AuditedRepositories, type By } from './audit-log.js'

/** What administration needs of hooks. */
export interface HookAdministration {
  readonly store: HookStore
  readonly contents: StoreContents
  readonly sender: Sender
  readonly secrets: HookSecrets
  /** Looks at the address of a receiver. @throws Error that says in words what is wrong with it */
  readonly check: (address: string) => void
  readonly pushes: Pushes
  /** Who delivers, where that is this process. */
  readonly deliverer?: Pick<Deliverer, 'wake' | 'log' | 'ping'>
}

/** What administration works on. */
export interface AdministrationDependencies {
  readonly store: WholeStore
  /** Absent where the host has tokens of its own. */
  readonly tokens?: Tokens
  /**
   * Absent where nobody signs in by a link of ours: others know who looks at the pages, or the process that would
   * keep the sessions is not running.
   */
  readonly signIns?: { readonly sessions: Sessions; readonly address: () => string }
  /** Absent where there are none. */
  readonly hooks?: HookAdministration
  /** Whether rights come from the grants of the store; else the host has its own. */
  readonly hasGrants: boolean
  /** Present where a program of the git server tells rights: then grants count for nothing. */
  readonly rights?: Pick<CommandPolicy, 'explain'>
  readonly audited: AuditedRepositories
  readonly logger: Logger
  readonly clock: Clock
  /** Absent where the host has its own. */
  readonly repositories?: RepositoryFolder
  readonly commits: Commits
  /** Who asks for a change, where the call does not say. */
  readonly by?: By
  /** Called when statuses have come or gone otherwise than by a report. */
  readonly changed?: () => void
  /** Ends long tasks, with its reason. */
  readonly stopping?: AbortSignal
  /**
   * Awaited between the steps of a long task, with the milliseconds that the step took; in a process that serves
   * others, it leaves them their share.
   */
  readonly yieldTurn?: (took: number) => Promise<void>
}

/** How the refusal of what is the host's own begins. */
export const OF_THE_HOST = 'the git server that this service lives in has'

/** Writes a change to the audit log. */
export function logChange(
  dependencies: AdministrationDependencies,
  by: Actor | undefined,
  facts: object,
  change: string,
): void {
  audit(dependencies.logger, by ?? dependencies.by, facts, change)
}

/** A long task that ends when everything stops, and leaves others their share. */
export async function* steered<Result, Item>(
  dependencies: AdministrationDependencies,
  task: Task<Result, Item>,
): Task<Result, Item> {
  const steps = withSignal(dependencies.stopping ?? new AbortController().signal, task)
  try {
    for (;;) {
      const begun = performance.now()
      const next = await steps.next()
      if (next.done) return next.value
      // Not what whoever takes the step needs for it.
      const took = performance.now() - begun
      yield next.value
      await dependencies.yieldTurn?.(took)
    }
  } finally {
    await cancel(steps)
  }
}

export function folderOf(dependencies: AdministrationDependencies): RepositoryFolder {
  if (!dependencies.repositories) throw new AdministrationError(`${OF_THE_HOST} its own way to find repositories`)
  return dependencies.repositories
}

/** What the audit log says of a token. */
export function audited({ id, user, name, scopes, expires_at, ...more }: TokenRecord): object {
  return { token: id, user, name, scopes, expires_at, ...limitsOf(more) }
}
