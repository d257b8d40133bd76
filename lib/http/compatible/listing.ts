import { hash } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { CommitStatus, Reporter } from '../../domain/commit-status.js'
import type { LargeList, SerialisedList, StatusList, StatusText } from '../../domain/status-list.js'
import { andThen, type Eventual } from '../../concurrency/maybe-promise.js'
import type { Answer } from '../exchange.js'
import type { Page } from './paging.js'

/** Bytes of answers that are remembered, and of the largest one of them. */
const MAX_BYTES = 32 * 1024 * 1024
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
  readonly body: (shown: Shown) => object
  readonly headers: (shown: Shown) => OutgoingHttpHeaders
}

/** What selects and orders statuses. */
export type Facts = Pick<CommitStatus, 'context' | 'state' | 'created_at' | 'updated_at'>

/** A status, and who reported it last where that is known. */
export interface ReportedStatus extends CommitStatus {
  readonly reporter?: Pick<Reporter, 'user'>
}

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

/**
 * Lists in the form of an API. An answer is remembered by what it is made of, so that a list that has not changed costs
 * what the strict one does.
 */
export class Listing {
  readonly #answers = new LRUCache<string, Answer & { readonly body: Buffer }>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: ({ body }, key) => key.length + body.length + 1024,
  })

  /** Closes a list that is large. */
  answer(list: SerialisedList | LargeList, formOf: () => Eventual<ListForm>): Eventual<Answer> {
    if ('close' in list) return this.#large(list, formOf)
    return andThen(formOf(), (form) => {
      const key = keyOf(list, form)
      return this.#answers.get(key) ?? this.#made(key, form, shownOf(list, form))
    })
  }

  async #large(list: LargeList, formOf: () => Eventual<ListForm>): Promise<Answer> {
    try {
      const form = await formOf()
      const key = keyOf(list, form)
      return this.#answers.get(key) ?? this.#made(key, form, await shownOfLarge(list, form))
    } finally {
      await list.close()
    }
  }

  #made(key: string, form: ListForm, shown: Shown): Answer {
    const body = Buffer.from(JSON.stringify(form.body(shown)))
    const digest = hash('sha256', key, 'base64url').slice(0, 22)
    const answer = { status: 200, body, digest, headers: form.headers(shown) }
    this.#answers.set(key, answer)
    return answer
  }
}

function keyOf({ digest, reporters }: SerialisedList | LargeList, { page, key }: ListForm): string {
  return `${digest} ${reporters.digest} ${page.number} ${page.size} ${key}`
}

function shownOf({ bytes, reporters }: SerialisedList, form: ListForm): Shown {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
  const { state, statuses } = JSON.parse(bytes.toString()) as StatusList
  const selected = selectedOf(
    statuses.map((status, index) => reported(status, reporters.users[index])),
    form,
  )
  return { statuses: pageOf(selected, form), total: selected.length, state }
}

/** Reads a list twice in place of holding it in memory: for what is shown, and then that, to the last of it. */
async function shownOfLarge(list: LargeList, form: ListForm): Promise<Shown> {
  const facts: (Facts & { readonly place: number })[] = []
  for await (const texts of list.pages()) {
    for (const { context, state, created_at, updated_at } of texts.map(statusOf))
      facts.push({ context, state, created_at, updated_at, place: facts.length })
  }
  const selected = selectedOf(facts, form)
  const places = pageOf(selected, form).map(({ place }) => place)
  const found = await atPlaces(list, new Set(places))
  return {
    statuses: places.map((place) => found.get(place)).filter((status) => status !== undefined),
    total: selected.length,
    state: list.summary.state,
  }
}

/** Statuses of a list by their place in it; no others are taken apart, and none is read behind the last of them. */
async function atPlaces(list: LargeList, wanted: ReadonlySet<number>): Promise<ReadonlyMap<number, ReportedStatus>> {
  const found = new Map<number, ReportedStatus>()
  let place = 0
  for await (const texts of wanted.size > 0 ? list.pages() : []) {
    for (const text of texts) {
      if (wanted.has(place)) found.set(place, statusOf(text))
      place++
    }
    if (found.size === wanted.size) break
  }
  return found
}

function statusOf({ json, reporter }: StatusText): ReportedStatus {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
  return reported(JSON.parse(json) as CommitStatus, reporter)
}

function reported(status: CommitStatus, user: string | undefined): ReportedStatus {
  return user === undefined ? status : { ...status, reporter: { user } }
}

function selectedOf<T extends Facts>(statuses: readonly T[], { selects, compare = newestFirst }: ListForm): T[] {
  const selected = selects ? statuses.filter(selects) : [...statuses]
  return selected.sort(compare)
}

function pageOf<T>(statuses: readonly T[], { page: { number, size } }: ListForm): T[] {
  return statuses.slice((number - 1) * size, number * size)
}
