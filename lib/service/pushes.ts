import { LRUCache } from 'lru-cache'
import { Semaphore } from '../concurrency/semaphore.js'
import type { Clock } from '../contracts/clock.js'
import type { HookRecord, HookStore, OutboxEntry } from '../contracts/hooks.js'
import { derivedUuid } from '../domain/derived-uuid.js'
import { parseObjectId } from '../domain/object-id.js'
import { HEADS, isNothing, pushText, TAGS, type PushedRef } from '../domain/push.js'
import { invalidBody } from '../domain/report.js'
import { isUserName, type RepositoryName } from '../domain/repository-name.js'
import { Schema } from '../domain/schema.js'
import { ServiceError } from '../errors.js'
import { isRefName } from '../git/ref-name.js'
import { matcherOf, onsOf, wantsBranches } from '../store/hook-index.js'

/** A push, or a part of one, as it is handed over. */
export interface SentPush {
  /** A UUID, the same whenever it is handed over. */
  readonly id: string
  /** The user who pushed; absent: who hands it over. */
  readonly pusher?: string
  /** 1 to 50. */
  readonly refs: readonly PushedRef[]
}

/** As many as a request has room for. */
export const MAX_REFS = 50

const text = { type: 'string' } as const

const shape = new Schema<SentPush>(
  {
    type: 'object',
    required: ['id', 'refs'],
    properties: {
      id: text,
      pusher: text,
      refs: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_REFS,
        items: {
          type: 'object',
          required: ['ref', 'before', 'after'],
          properties: { ref: text, before: text, after: text },
        },
      },
    },
  },
  { ownProperties: true },
)

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @throws ServiceError `invalid_body`, `field_invalid` */
export function parsePush(body: unknown): SentPush {
  if (!shape.is(body)) {
    const wrong = shape.errors.map(({ instancePath, message }) => `${instancePath.slice(1) || 'it'} ${message}`)
    throw invalidBody(wrong.join(', '))
  }
  const { id, pusher, refs } = body
  if (!UUID.test(id)) throw invalidField('id must be a UUID in lower case')
  if (pusher !== undefined && !isUserName(pusher)) throw invalidField('pusher must be the name of a user')
  return { id, ...(pusher !== undefined && { pusher }), refs: refs.map(parseRef) }
}

function parseRef({ ref, before: old, after: id }: PushedRef): PushedRef {
  if (!ref.startsWith('refs/') || !isRefName(ref)) throw invalidField('ref must be the full name of a ref')
  const [before = '', after = ''] = [old, id].map((text) => parseObjectId(text)?.hex)
  if (before === '' || after === '') throw invalidField('before and after must be full ids')
  if (isNothing(before) && isNothing(after)) throw invalidField('before and after must not both be of nothing')
  return { ref, before, after }
}

function invalidField(text: string): ServiceError {
  return new ServiceError('field_invalid', { text })
}

/** Refs of pushes that it is remembered were noted. */
const MAX_KNOWN = 10_000

/** Notes pushes for the hooks that are told of them: one after the other, so that they are told in their order. */
export class Pushes {
  readonly #hooks: Pick<HookStore, 'list' | 'outbox'>
  readonly #clock: Clock
  /** Those who wait are requests, and commands. */
  readonly #turns = new Semaphore(1, Infinity)
  /** Whoever did not hear that a push was noted hands it over once more. */
  readonly #known = new LRUCache<string, true>({ max: MAX_KNOWN })

  constructor(hooks: Pick<HookStore, 'list' | 'outbox'>, clock: Clock) {
    this.#hooks = hooks
    this.#clock = clock
  }

  /**
   * Notes branches and tags of a push; they are on disk once this has resolved. Again it is harmless.
   * @param sender who hands it over
   * @returns how many deliveries it makes, besides those of what branches come to
   * @throws StoreUnavailable
   */
  async note(repository: RepositoryName, { id, pusher, refs }: SentPush, sender: string): Promise<number> {
    await this.#turns.enter()
    try {
      const keyOf = ({ ref }: PushedRef): string => `${repository.full} ${id} ${ref}`
      const news = refs.filter((ref) => !this.#known.has(keyOf(ref)))
      const hooks = (await this.#hooks.list()).filter((hook) => isFor(hook, repository))
      const since = new Date(this.#clock.now()).toISOString()
      const entriesOf = (told: readonly HookRecord[], pushed: PushedRef, subject: string, what = ''): OutboxEntry[] =>
        told.filter(coversRef(pushed)).map(({ id: hook }) => {
          const delivery = derivedUuid(`${hook} ${keyOf(pushed)}${what}`)
          return { hook, repository, subject, delivery, since, from: null }
        })
      const [ofPushes, ofBranches] = [hooks.filter(wantsPushes), hooks.filter(wantsBranches)]
      const pushes = news.flatMap((pushed) =>
        entriesOf(ofPushes, pushed, pushText({ ...pushed, id, pusher: pusher ?? sender, sender })),
      )
      // A commit may have failed or succeeded before it was the tip of a branch.
      const tips = news.filter(isTip).flatMap((pushed) => entriesOf(ofBranches, pushed, `${pushed.after}/`, ' tip'))
      if (pushes.length + tips.length > 0) await this.#hooks.outbox.add([...pushes, ...tips])
      for (const ref of news) this.#known.set(keyOf(ref), true)
      return pushes.length
    } finally {
      this.#turns.leave()
    }
  }
}

function wantsPushes({ events }: HookRecord): boolean {
  return events.includes('push')
}

function isTip({ ref, after }: PushedRef): boolean {
  return ref.startsWith(HEADS) && !isNothing(after)
}

function isFor({ on, state }: HookRecord, repository: RepositoryName): boolean {
  return state !== 'stopped' && onsOf(repository).includes(on)
}

/** A hook on some branches hears of no tags. */
function coversRef({ ref }: PushedRef): (hook: HookRecord) => boolean {
  return ({ branches }) =>
    ref.startsWith(HEADS) ? matcherOf(branches)(ref.slice(HEADS.length)) : ref.startsWith(TAGS) && !branches
}
