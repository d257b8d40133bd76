import type { OutgoingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import { cacheShares } from '../../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import type { CommitStatus } from '../../domain/commit-status.js'
import type { ListedStatus, ReportedStatus, SentList, StatusList } from '../../domain/status-list.js'
import { chain, closing, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { digestOf } from '../digest.js'
import { jsonBytes, type Answer } from '../exchange.js'
import type { Page } from './paging.js'

/** Of the largest answer that is remembered. */
const MAX_ENTRY_BYTES = 1024 * 1024

/** What an API shows of the statuses of a commit. */
export interface ListForm {
  /** Everything that the answer depends on, besides the statuses: what has the same key is the same. */
  readonly key: string
  readonly page: Page
  /** Which statuses are shown; absent: all. */
  readonly selects?: (status: Facts) => boolean
  /** Absent: the newest report first. */
  readonly compare?: (one: Facts, other: Facts) => number
  readonly body: (shown: Shown) => MaybePromise<object>
  readonly headers: (shown: Shown) => OutgoingHttpHeaders
}

/** What selects and orders statuses. */
export type Facts = Pick<CommitStatus, 'context' | 'state' | 'created_at' | 'updated_at'>

export interface Shown {
  /** Those of the page. */
  readonly statuses: readonly ReportedStatus[]
  /** How many there are on all pages. */
  readonly total: number
  /** Of all statuses of the commit, shown or not. */
  readonly state: StatusList['state']
}

/** Clients take the first status of a list for the latest one. */
export function newestFirst(one: Facts, other: Facts): number {
  return descending(one.updated_at, other.updated_at)
}

export function descending(one: string, other: string): number {
  return one < other ? 1 : one > other ? -1 : 0
}

/** Who reported each status of a list: a person is made once, however many statuses are theirs. */
export function creators<Person extends object>(
  make: (login: string) => Person,
): (status: Pick<ReportedStatus, 'reporter'>) => Person | null {
  const made = new Map<string, Person>()
  return ({ reporter }) => {
    if (!reporter) return null
    const person = made.get(reporter.user) ?? make(reporter.user)
    made.set(reporter.user, person)
    return person
  }
}

/**
 * Lists in the form of an API. An answer is remembered by what it is made of, so that a list that has not changed costs
 * what the strict one does.
 */
export class Listing {
  readonly #answers: LRUCache<string, Answer & { readonly body: Buffer }>
  /** Those that are made at the moment, for all who ask meanwhile. */
  readonly #making = new Map<string, Promise<Answer>>()

  /** @param cacheBytes of answers that are remembered */
  constructor(meter: Meter = noopMeter, cacheBytes = cacheShares().answers) {
    this.#answers = new LRUCache({
      maxSize: cacheBytes,
      maxEntrySize: Math.min(MAX_ENTRY_BYTES, cacheBytes),
      sizeCalculation: ({ body }, key) => key.length + body.length + 1024,
    })
    meter.cacheSize('answers', () => this.#answers.calculatedSize)
  }

  /** Closes the list. */
  answer(list: SentList, formOf: () => MaybePromise<ListForm>): MaybePromise<Answer> {
    return closing(list, () =>
      chain(formOf(), (form) => {
        const key = keyOf(list, form)
        return this.#answers.get(key) ?? this.#making.get(key) ?? this.#make(key, list, form)
      }),
    )
  }

  #make(key: string, list: SentList, form: ListForm): Promise<Answer> {
    const making = shownOf(list, form)
      .then(async (shown) => {
        const body = jsonBytes(await form.body(shown))
        const digest = digestOf(key)
        const answer = { status: 200, body, digest, headers: form.headers(shown) }
        this.#answers.set(key, answer)
        return answer
      })
      .finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }
}

function keyOf({ digest, reporters }: SentList, { page, key }: ListForm): string {
  return `${digest} ${reporters.digest} ${page.number} ${page.size} ${key}`
}

/**
 * Reads a list of more than one piece twice in place of holding it in memory: for what is shown, and then that, to the
 * last of it.
 */
async function shownOf(list: SentList, form: ListForm): Promise<Shown> {
  const facts: (Facts & { readonly place: number })[] = []
  let last: readonly ListedStatus[] = []
  for await (last of list.pages()) {
    for (const status of last) {
      const { context, state, created_at, updated_at } = status.parse()
      facts.push({ context, state, created_at, updated_at, place: facts.length })
    }
  }
  const selected = selectedOf(facts, form)
  const places = pageOf(selected, form).map(({ place }) => place)
  const found = await atPlaces(last.length === facts.length ? [last] : list.pages(), new Set(places))
  return {
    statuses: places.map((place) => found.get(place)).filter((status) => status !== undefined),
    total: selected.length,
    state: list.summary.state,
  }
}

/** Statuses of a list by their place in it; no others are taken apart, and none is read behind the last of them. */
async function atPlaces(
  pages: AsyncIterable<readonly ListedStatus[]> | readonly (readonly ListedStatus[])[],
  wanted: ReadonlySet<number>,
): Promise<ReadonlyMap<number, ReportedStatus>> {
  const found = new Map<number, ReportedStatus>()
  let place = 0
  for await (const statuses of wanted.size > 0 ? pages : []) {
    for (const status of statuses) {
      if (wanted.has(place)) found.set(place, status.parse())
      place++
    }
    if (found.size === wanted.size) break
  }
  return found
}

function selectedOf<T extends Facts>(statuses: readonly T[], { selects, compare = newestFirst }: ListForm): T[] {
  const selected = selects ? statuses.filter(selects) : [...statuses]
  return selected.sort(compare)
}

function pageOf<T>(statuses: readonly T[], { page: { number, size } }: ListForm): T[] {
  return statuses.slice((number - 1) * size, number * size)
}
