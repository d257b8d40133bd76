import { randomBytes, randomUUID } from 'node:crypto'
import type { Task } from '../concurrency/task.js'
import type { HookAttempt, HookRecord } from '../contracts/hooks.js'
import { HOST_USER } from '../domain/repository-name.js'
import { AdministrationError } from '../errors.js'
import type { SentPush } from '../service/pushes.js'
import { attemptOf } from '../webhooks/delivery-log.js'
import { resumed } from '../webhooks/hook-health.js'
import {
  logChange,
  steered,
  type AdministrationDependencies,
  type HookAdministration,
} from './administration-dependencies.js'
import type { Administration, ListedHook } from './administration.js'
import { checkRepository } from './arguments.js'
import { checkHookId, checkPush, checkSecret, checkTime, hookFields, type HookRequest } from './hook-arguments.js'
import { hookFacts, receiverOf, type Actor } from './audit-log.js'
import { resendDeliveries, type Resent } from './hook-resend.js'

/** How many hooks there may be; each costs something with every report that it is for. */
const MAX_HOOKS = 100

/** Hooks: who is sent what. */
export function hookAdministration(dependencies: AdministrationDependencies) {
  const { clock } = dependencies
  const hooks = (): HookAdministration => {
    if (dependencies.hooks) return dependencies.hooks
    throw new AdministrationError(
      dependencies.store.hooks
        ? 'webhooks are off here: the setting hooks.secretFile is empty'
        : 'the git server that this service lives in has a store that keeps no webhooks',
    )
  }
  const found = (id: string, hook: HookRecord | undefined): HookRecord => {
    if (!hook) throw new AdministrationError(`there is no hook ${id}`)
    return hook
  }
  const hookNamed = async (id: string): Promise<HookRecord> => found(id, await hooks().store.get(checkHookId(id)))
  const waiting = async () => await hooks().store.outbox.waiting()
  const change = async (id: string, by: Actor | undefined, what: string, to: (hook: HookRecord) => HookRecord) => {
    const hook = found(id, await hooks().store.update(checkHookId(id), to))
    logChange(dependencies, by, hookFacts(hook), what)
    hooks().deliverer?.wake(id)
    return hook
  }
  return {
    async createHook(request: HookRequest, by?: Actor): Promise<ListedHook & { secret: string | null }> {
      const { store, secrets, check, deliverer } = hooks()
      const fields = hookFields(request, check)
      const known = await store.list()
      if (known.length >= MAX_HOOKS)
        throw new AdministrationError(`there are ${known.length} hooks, the most there may be`)
      const hook: HookRecord = {
        id: randomBytes(6).toString('hex'),
        ...fields,
        secret: request.secret === undefined ? { generation: 1 } : { given: checkSecret(request.secret) },
        created_at: new Date(clock.now()).toISOString(),
        by: by?.user ?? HOST_USER,
        state: 'active',
      }
      const { current } = secrets.of(hook, clock.now())
      await store.add(hook)
      logChange(dependencies, by, hookFacts(hook), 'hook created')
      deliverer?.wake(hook.id)
      return { ...listed(hook, await waiting()), secret: request.secret === undefined ? current : null }
    },

    async listHooks(on: string | null): Promise<ListedHook[]> {
      const counts = await waiting()
      const found = (await hooks().store.list()).filter((hook) => on === null || hook.on === on)
      return found.map((hook) => listed(hook, counts))
    },

    async deleteHook(id: string, by?: Actor): Promise<void> {
      const hook = await hookNamed(id)
      await hooks().store.remove(id)
      logChange(dependencies, by, hookFacts(hook), 'hook deleted')
    },

    async pauseHook(id: string, by?: Actor): Promise<ListedHook> {
      const paused = (hook: HookRecord): HookRecord => {
        if (hook.state === 'stopped')
          throw new AdministrationError(`the hook ${id} is stopped: ${hook.stopped_because}`)
        return { ...hook, state: 'paused' }
      }
      return listed(await change(id, by, 'hook paused', paused), await waiting())
    },

    async resumeHook(id: string, by?: Actor): Promise<ListedHook> {
      return listed(await change(id, by, 'hook resumed', resumed), await waiting())
    },

    async testHook(id: string): Promise<HookAttempt> {
      const hook = await hookNamed(id)
      const { deliverer, sender } = hooks()
      if (deliverer) return await deliverer.ping(hook)
      const delivery = { id: randomUUID(), event: 'ping', hook } as const
      return attemptOf(delivery, await sender.send(delivery, new AbortController().signal), clock)
    },

    async listDeliveries(id: string): Promise<HookAttempt[]> {
      const { last } = await hookNamed(id)
      const known = hooks().deliverer?.log(id) ?? []
      return known.length > 0 || !last ? [...known] : [last]
    },

    async *resendDeliveries(id: string, since: string, by?: Actor): Task<Resent> {
      const [hook, from] = [await hookNamed(id), checkTime(since)]
      const { store, contents, deliverer } = hooks()
      if (hook.state === 'stopped') throw new AdministrationError(`the hook ${id} is stopped: hook resume comes first`)
      const made = yield* steered(dependencies, resendDeliveries(store, contents, hook, from))
      const { deliveries, since: left } = made
      const facts = { ...hookFacts(hook), since: from, deliveries, ...(left !== undefined && { left }) }
      logChange(dependencies, by, facts, 'deliveries made again')
      deliverer?.wake(id)
      return made
    },

    async rotateSecret(id: string, secret: string | null, by?: Actor): Promise<{ secret: string | null }> {
      const rotated_at = new Date(clock.now()).toISOString()
      const given = secret !== null && { given: checkSecret(secret) }
      const rotated = ({ generation = 1, given: given_before }: HookRecord['secret']): HookRecord['secret'] => ({
        ...{ generation: generation + 1, rotated_at },
        ...given,
        ...(given_before !== undefined && { given_before }),
      })
      const hook = await change(id, by, 'hook secret rotated', (hook) => ({ ...hook, secret: rotated(hook.secret) }))
      return { secret: given ? null : hooks().secrets.of(hook, clock.now()).current }
    },

    async notePush(repository: string, sent: SentPush, by?: Actor): Promise<{ readonly deliveries: number }> {
      const { pushes } = hooks()
      const name = checkRepository(repository)
      if (dependencies.repositories && !(await dependencies.repositories.find(name)))
        throw new AdministrationError(`there is no repository ${name.full}`)
      const push = checkPush(sent)
      // Who may do this is believed.
      return { deliveries: await pushes.note(name, push, push.pusher ?? by?.user ?? HOST_USER) }
    },
  } satisfies Partial<Administration>
}

function listed(
  { url, secret: _, ...hook }: HookRecord,
  waiting: ReadonlyMap<string, { readonly count: number; readonly since: string }>,
): ListedHook {
  const { count, since } = waiting.get(hook.id) ?? { count: 0, since: undefined }
  return { ...hook, receiver: receiverOf(url), waiting: count, ...(since !== undefined && { waiting_since: since }) }
}
