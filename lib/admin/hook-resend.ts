import { randomUUID } from 'node:crypto'
import type { Task } from '../concurrency/task.js'
import type { HookRecord, HookStore, OutboxEntry } from '../contracts/hooks.js'
import type { StoreContents } from '../contracts/store-administration.js'
import { HookIndex } from '../store/hook-index.js'
import { MAX_WAITING } from '../webhooks/hook-conditions.js'

/** What may wait for a hook with what is made anew: the rest is for what is reported meanwhile. */
const MAX_RESENT = MAX_WAITING / 2

/** What was made anew. */
export interface Resent {
  /** How many. */
  readonly deliveries: number
  /** Where more is left: the time of the first of it, ISO 8601 in UTC. */
  readonly since?: string
}

/**
 * Makes deliveries to a hook anew, of the statuses as they are: the outbox keeps none that it has dropped. Of more than
 * may wait the oldest are made, and the hook stays behind since the first of the others.
 * @param since ISO 8601 in UTC: of statuses that were updated then or later
 */
export async function* resendDeliveries(
  hooks: HookStore,
  contents: StoreContents,
  hook: HookRecord,
  since: string,
): Task<Resent> {
  const index = new HookIndex([hook])
  const { count: waiting = 0 } = (await hooks.outbox.waiting()).get(hook.id) ?? {}
  const missed = new Missed(Math.max(0, MAX_RESENT - waiting))
  for await (const { statuses, share } of contents.pages()) {
    for (const { repository, status } of statuses) {
      const { sha, context, state, updated_at: at } = status
      if (at < since) continue
      for (const { subject } of index.notes(repository, sha, context, state))
        // What waits since its status was updated is found again by who begins there, if it has to be dropped.
        missed.add({ hook: hook.id, repository, subject, delivery: randomUUID(), since: at, from: null })
    }
    yield { progress: { phase: 'collecting', done: missed.count, share } }
  }
  const { entries, left } = missed.oldest()
  await hooks.outbox.add(entries)
  await hooks.update(hook.id, (hook) => {
    const { behind_since, ...rest } = hook
    // What is stopped meanwhile has lost this, too.
    if (hook.state === 'stopped' || (behind_since !== undefined && behind_since < since)) return hook
    return left === undefined ? rest : { ...rest, behind_since: left }
  })
  return { deliveries: entries.length, ...(left !== undefined && { since: left }) }
}

/** The oldest of what a hook has missed, however much that is. */
class Missed {
  readonly #max: number
  #found = new Map<string, OutboxEntry>()
  /** The time of the first that is left out. */
  #left: string | undefined

  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#found.size
  }

  add(entry: OutboxEntry): void {
    const key = `${entry.repository.full} ${entry.subject}`
    const known = this.#found.get(key)
    if (!known || entry.since < known.since) this.#found.set(key, entry)
    if (this.#found.size > 2 * MAX_WAITING) this.#cut()
  }

  oldest(): { readonly entries: readonly OutboxEntry[]; readonly left: string | undefined } {
    this.#cut()
    return { entries: [...this.#found.values()], left: this.#left }
  }

  #cut(): void {
    const inOrder = [...this.#found].sort(([, one], [, other]) => (one.since < other.since ? -1 : 1))
    const left = inOrder[this.#max]?.[1].since
    if (this.#left === undefined || (left !== undefined && left < this.#left)) this.#left = left
    this.#found = new Map(inOrder.slice(0, this.#max))
  }
}
