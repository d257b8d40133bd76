import { runTask } from '../concurrency/task.js'
import type { Meter } from '../contracts/meter.js'
import type { Store } from '../contracts/store.js'
import { milliseconds } from '../domain/verdict/duration.js'
import { errorMessage } from '../errors.js'
import type { AdministrationDependencies } from './administration-dependencies.js'
import { prunedStore } from './store-administration.js'
import { nothingPruned, type PruneRequest } from './store-prune.js'

/** Which statuses go: those of which any of this is so. */
export interface RetentionRule {
  /** They were not updated for this long: `400d` or `52w`. */
  readonly unchangedFor?: string
  /** Their commit is gone from its repository. */
  readonly goneCommits?: boolean
  /** Their repository is gone. */
  readonly goneRepositories?: boolean
}

export interface RetentionDependencies extends AdministrationDependencies {
  readonly meter: Pick<Meter, 'retentionRan'>
}

/** How often it is looked whether a new day has begun. */
const CHECK_MILLISECONDS = 10 * 60 * 1000

/**
 * Prunes the store once in a day of UTC, as `store prune` does: at the start where nobody has done it that day, later
 * soon after midnight. Of all instances on a store one does it. What is not done when the service ends is left for the
 * next day.
 */
export class Retention {
  readonly #rule: RetentionRule
  readonly #dependencies: RetentionDependencies
  readonly #claimDay: (now: number) => Promise<boolean>
  readonly #timer: NodeJS.Timeout
  #checking: Promise<void> | undefined

  /** @param checkMilliseconds how often it is looked whether a new day has begun */
  constructor(
    rule: RetentionRule,
    claimDay: NonNullable<Store['claimDay']>,
    dependencies: RetentionDependencies,
    checkMilliseconds = CHECK_MILLISECONDS,
  ) {
    this.#rule = rule
    this.#claimDay = claimDay
    this.#dependencies = dependencies
    this.#timer = setInterval(() => void this.check(), checkMilliseconds).unref()
    void this.check()
  }

  /** Prunes if it is time to. Never rejects; what goes wrong is logged. */
  async check(): Promise<void> {
    await (this.#checking ??= this.#check().finally(() => (this.#checking = undefined)))
  }

  /** Waits for the prune under way, which `dependencies.stopping` ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#checking
  }

  async #check(): Promise<void> {
    const { logger, clock, stopping } = this.#dependencies
    const counts = nothingPruned()
    try {
      const now = clock.now()
      if (stopping?.aborted || !(await this.#claimDay(now))) return
      await this.#prune(requestOf(this.#rule, now), counts)
    } catch (error) {
      if (!stopping?.aborted)
        logger.warn({ reason: errorMessage(error), ...counts }, 'retention: the store was not pruned to its end')
    }
  }

  async #prune(request: PruneRequest, counts: ReturnType<typeof nothingPruned>): Promise<void> {
    const { meter } = this.#dependencies
    let isWhole = false
    try {
      await runTask(prunedStore(this.#dependencies, request, undefined, counts), () => undefined)
      isWhole = true
    } finally {
      meter.retentionRan(isWhole, counts.statuses, counts.kept)
    }
  }
}

function requestOf({ unchangedFor, goneCommits = false, goneRepositories = false }: RetentionRule, now: number) {
  const length = unchangedFor === undefined ? undefined : milliseconds(unchangedFor)
  const olderThan = length === undefined ? null : new Date(now - length).toISOString()
  return { goneCommits, goneRepositories, olderThan, remove: true } satisfies PruneRequest
}
