import { randomUUID } from 'node:crypto'
import type { Task } from '../concurrency/task.js'
import type { HookRecord, HookStore, OutboxEntry } from '../contracts/hooks.js'
import type { StoreContents } from '../contracts/store-administration.js'
import { AdministrationError } from '../errors.js'
import { HookIndex } from '../store/hook-index.js'
import { MAX_WAITING } from '../webhooks/hook-conditions.js'

/**
 * Makes deliveries to a hook anew, of the statuses as they are: the outbox keeps none that it has dropped.
 * @param since ISO 8601 in UTC: of statuses that were updated then or later
 * @param now the same
 * @returns how many
 */
export async function* resendDeliveries(
  hooks: HookStore,
  contents: StoreContents,
  hook: HookRecord,
  since: string,
  now: string,
): Task<{ readonly deliveries: number }> {
  const index = new HookIndex([hook])
  const found = new Map<string, { readonly entry: OutboxEntry; readonly at: string }>()
  const { count: waiting = 0 } = (await hooks.outbox.waiting()).get(hook.id) ?? {}
  for await (const { statuses, share } of contents.pages()) {
    for (const { repository, status } of statuses) {
      const { sha, context, state, updated_at: at } = status
      if (at < since) continue
      for (const { subject } of index.notes(repository, sha, context, state)) {
        const entry = { hook: hook.id, repository, subject, delivery: randomUUID(), since: now, from: null }
        found.set(`${repository.full} ${subject}`, { entry, at })
      }
    }
    if (found.size + waiting > MAX_WAITING)
      throw new AdministrationError(`more than ${MAX_WAITING} deliveries would wait: take a later time`)
    yield { progress: { phase: 'collecting', done: found.size, share } }
  }
  const inOrder = [...found.values()].sort((one, other) => one.at.localeCompare(other.at)).map(({ entry }) => entry)
  await hooks.outbox.add(inOrder)
  await hooks.update(hook.id, (hook) => {
    const { behind_since, ...rest } = hook
    return behind_since === undefined || behind_since < since ? hook : rest
  })
  return { deliveries: found.size }
}
