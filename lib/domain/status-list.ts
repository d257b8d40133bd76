import { createHash, hash } from 'node:crypto'
import {
  combinedState,
  commitState,
  type CommitState,
  type CommitStatus,
  hasFailed,
  type Reporter,
  toApiStatus,
  STATES,
  type State,
  type StoredStatus,
} from './commit-status.js'

/** The statuses of a commit with their combined state ("List the statuses of a commit" in http/api/api.md). */
export interface StatusList {
  readonly state: ReturnType<typeof combinedState>
  /** Ordered by the UTF-8 bytes of `context`. */
  readonly statuses: readonly CommitStatus[]
}

/** The same, with who reported each. */
export interface StoredList extends StatusList {
  readonly statuses: readonly StoredStatus[]
}

/** A status as JSON, with what is known of it besides. */
export interface StatusText {
  readonly state: State
  readonly json: string
  /** The user that reported it last; `undefined` where nobody knows. */
  readonly reporter: string | undefined
}

/** Which user reported each status of a list last: beside the list that is sent, which does not show it. */
export class Reporters {
  /** In the order of the list; `undefined` where nobody knows. */
  readonly users: readonly (string | undefined)[]
  #digest: string | undefined

  constructor(users: readonly (string | undefined)[]) {
    this.users = users
  }

  /** The same for the same users in the same places. Made once somebody asks: most lists are sent without it. */
  get digest(): string {
    this.#digest ??= hash('sha256', this.users.map(reporterText).join(''), 'base64url').slice(0, DIGEST_LETTERS)
    return this.#digest
  }
}

/** A status that is sent, and the user that reported it last where that is known. */
export interface ReportedStatus extends CommitStatus {
  readonly reporter?: Pick<Reporter, 'user'>
}

/** A status of a list that is sent, which is taken apart for whoever needs more than its state. */
export interface ListedStatus {
  readonly state: State
  parse(): ReportedStatus
}

/**
 * A `StatusList` as it is sent, JSON in UTF-8 with a line feed at its end. To be closed once, whether or not it has
 * been read.
 */
export interface SentList {
  /** Digest of the statuses: the same for the same list, in every process and store. 22 characters of base64url. */
  readonly digest: string
  /** How many bytes there are. */
  readonly length: number
  readonly summary: CommitState
  /** How many statuses of each state there are. */
  readonly counts: Readonly<Record<State, number>>
  readonly reporters: Pick<Reporters, 'digest'>
  /** All of it, where it is held in memory: for whoever sends it. */
  readonly bytes?: Buffer
  /** The bytes, some at a time; to be read once. */
  chunks(): AsyncIterable<Buffer>
  /** Its statuses, some at a time; as often as they are asked for. */
  pages(): AsyncIterable<readonly ListedStatus[]>
  close(): void | Promise<void>
}

/** A list that is held in memory, and shared by all who send it: closing it does nothing. */
export class SerialisedList implements SentList {
  readonly bytes: Buffer
  readonly digest: string
  readonly summary: CommitState
  readonly reporters: Reporters

  /** @param headBytes how many of the bytes stand before the first status */
  constructor(bytes: Buffer, headBytes: number, states: readonly State[], users: readonly (string | undefined)[]) {
    this.bytes = bytes
    this.digest = digestOf(bytes, headBytes)
    this.summary = commitState(states)
    this.reporters = new Reporters(users)
  }

  get length(): number {
    return this.bytes.length
  }

  async *chunks(): AsyncGenerator<Buffer> {
    yield await Promise.resolve(this.bytes)
  }

  get counts(): Readonly<Record<State, number>> {
    const counts = { pending: 0, success: 0, failure: 0, error: 0 }
    for (const { state } of this.#statuses()) counts[state]++
    return counts
  }

  async *pages(): AsyncGenerator<readonly ListedStatus[]> {
    const { users } = this.reporters
    const listed = (status: CommitStatus, user: string | undefined): ListedStatus => ({
      state: status.state,
      parse: () => reported(status, user),
    })
    yield await Promise.resolve(this.#statuses().map((status, index) => listed(status, users[index])))
  }

  close(): void {
    // It is the cache's.
  }

  #statuses(): readonly CommitStatus[] {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
    return (JSON.parse(this.bytes.toString()) as StatusList).statuses
  }
}

/** Lists with more bytes are not held in memory. */
export const LARGE_LIST_BYTES = 512 * 1024

const DIGEST_LETTERS = 22

/** With a line feed, for terminals. */
const END = ']}\n'
const COMMA = Buffer.from(',')

/** What stands before the first status of a list. */
export function listHead(states: Iterable<State>): string {
  return `{"state":${JSON.stringify(combinedState([...new Set(states)]))},"statuses":[`
}

function reporterText(user: string | undefined): string {
  return `${JSON.stringify(user ?? null)},`
}

/** Covers the statuses only: the combined state is derived from them, and not known until all are read. */
function digestOf(list: Buffer, headBytes: number): string {
  return hash('sha256', list.subarray(headBytes), 'base64url').slice(0, DIGEST_LETTERS)
}

/** Small buffers are pieces of larger ones, all of which stays in memory for as long as one of them does. */
function ownBytes(pieces: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const piece of pieces) end += piece.copy(bytes, end)
  return bytes
}

export function serialisedList(texts: readonly StatusText[]): SerialisedList {
  const states = texts.map((text) => text.state)
  const start = listHead(states)
  const bytes = ownBytes([Buffer.from(`${start}${texts.map((text) => text.json).join(',')}${END}`)])
  return new SerialisedList(
    bytes,
    start.length,
    states,
    texts.map((text) => text.reporter),
  )
}

/** Makes a list of the JSON of its statuses. */
export function joinedList(
  pieces: readonly Buffer[],
  states: readonly State[],
  users: readonly (string | undefined)[],
): SerialisedList {
  const start = Buffer.from(listHead(states))
  const joined = pieces.flatMap((piece, index) => (index === 0 ? [piece] : [COMMA, piece]))
  return new SerialisedList(ownBytes([start, ...joined, Buffer.from(END)]), start.length, states, users)
}

/** Makes the JSON that is sent, without what the API does not show. */
export function toText(status: StoredStatus): StatusText {
  return { state: status.state, json: JSON.stringify(toApiStatus(status)), reporter: status.reporter?.user }
}

/** The statuses of a commit at one moment, some at a time, as often as they are asked for. */
export interface StatusPages {
  pages(): AsyncIterable<readonly StatusText[]>
  close(): Promise<void>
}

/** Reads a list that is too large for the memory once, for its head, so that it can then be sent as it is read. */
export async function largeList(source: StatusPages): Promise<SentList> {
  const digest = createHash('sha256')
  const reporters = createHash('sha256')
  const counts = { pending: 0, success: 0, failure: 0, error: 0 }
  let [length, statuses, isFirst] = [0, 0, true]
  try {
    for await (const texts of source.pages()) {
      for (const { state, reporter } of texts) {
        counts[state]++
        reporters.update(reporterText(reporter))
      }
      const bytes = pageBytes(texts, isFirst)
      digest.update(bytes)
      length += bytes.length
      statuses += texts.length
      isFirst = false
    }
  } catch (error) {
    await source.close()
    throw error
  }
  digest.update(END)
  const states = STATES.filter((state) => counts[state] > 0)
  const start = Buffer.from(listHead(states))
  return {
    digest: digest.digest('base64url').slice(0, DIGEST_LETTERS),
    length: start.length + length + END.length,
    summary: { ...commitState(states), statuses },
    counts,
    reporters: { digest: reporters.digest('base64url').slice(0, DIGEST_LETTERS) },
    async *chunks() {
      yield start
      let isFirst = true
      for await (const texts of source.pages()) {
        yield pageBytes(texts, isFirst)
        isFirst = false
      }
      yield Buffer.from(END)
    },
    async *pages() {
      for await (const texts of source.pages()) yield texts.map(listedStatus)
    },
    close: async () => {
      await source.close()
    },
  }
}

/**
 * The contexts of a list that failed, in its order.
 * @param max how many at most
 */
export async function failedContexts(list: SentList, max: number): Promise<string[]> {
  if (list.summary.state !== 'failure') return []
  const failed: string[] = []
  for await (const statuses of list.pages()) {
    failed.push(...statuses.filter(hasFailed).map((status) => status.parse().context))
    if (failed.length >= max) break
  }
  return failed.slice(0, max)
}

function listedStatus({ state, json, reporter }: StatusText): ListedStatus {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
  return { state, parse: () => reported(JSON.parse(json) as CommitStatus, reporter) }
}

function reported(status: CommitStatus, user: string | undefined): ReportedStatus {
  return user === undefined ? status : { ...status, reporter: { user } }
}

function pageBytes(texts: readonly StatusText[], isFirst: boolean): Buffer {
  const joined = texts.map(({ json }) => json).join(',')
  return Buffer.from(isFirst || joined === '' ? joined : `,${joined}`)
}
