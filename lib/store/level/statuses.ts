import { randomBytes } from 'node:crypto'
import { STATES, isState, type CommitStatus, type Report } from '../../commit-status.js'
import { idleMeter, type Meter } from '../../meter.js'
import type { ObjectId } from '../../object-id.js'
import { parseRepositoryName, type RepositoryName } from '../../repository-name.js'
import { serialisedList, type SerialisedList, type StatusText } from '../../status-list.js'
import { sizeOf } from '../queue-bounds.js'
import type { RepositoryStatus, SavedStatus, StatusStore } from '../store.js'
import type { Database, Operation } from './database.js'
import { KnownList } from './known-list.js'
import { ReadCache } from './read-cache.js'
import { contentOf, damaged, decode, decodeText, encode, rekeyed } from './record.js'
import type { Writer } from './writer.js'

/** What a value holds: the commit and the context are in the key, `owner/repo/sha/context`. */
type Stored = Omit<CommitStatus, 'sha' | 'context'>

const isStored = contentOf<Stored>({
  id: { type: 'string' },
  state: { enum: STATES },
  description: { type: ['string', 'null'] },
  target_url: { type: ['string', 'null'] },
  created_at: { type: 'string' },
  updated_at: { type: 'string' },
})

/** Bytes of lists that are kept in memory as they are sent. */
const LISTS_BYTES = 32 * 1024 * 1024

export class LevelStatuses implements StatusStore {
  readonly #database: Database
  readonly #writer: Writer
  readonly #lists: ReadCache<KnownList>

  constructor(database: Database, writer: Writer, meter: Meter = idleMeter) {
    this.#database = database
    this.#writer = writer
    this.#lists = new ReadCache({ name: 'lists', most: LISTS_BYTES, sizeOf: ({ size }) => size, meter })
    database.onReopen(() => {
      this.#lists.clear()
    })
  }

  async save(repository: RepositoryName, commit: ObjectId, report: Report, at: number): Promise<SavedStatus> {
    const list = prefix(repository, commit)
    const key = `${list}${report.context}`
    const saved = await this.#writer.apply({
      size: sizeOf(report),
      reads: [key],
      decide: ([value]) => {
        const previous = value === undefined ? undefined : fromStored(repository, key, value)
        const status = replaced(previous, commit, report, new Date(at).toISOString())
        return { operations: [{ type: 'put', ...entryOf(repository, status) }], result: { status, previous } }
      },
    })
    this.#lists.change(list, (known) => known.note(saved.status))
    return saved
  }

  async list(repository: RepositoryName, commit: ObjectId): Promise<CommitStatus[]> {
    const found = await this.#database.all(prefix(repository, commit))
    return found.map(([key, value]) => fromStored(repository, key, value))
  }

  serialised(repository: RepositoryName, commit: ObjectId): SerialisedList | Promise<SerialisedList> {
    const key = prefix(repository, commit)
    const known = this.#lists.get(key, async () => {
      const found = await this.#database.all(key)
      return new KnownList(serialisedList(found.map(([each, value]) => statusText(commit, each, value, each.slice(key.length)))))
    })
    return known instanceof Promise ? known.then(({ list }) => list) : known.list
  }

  async remove(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number> {
    const list = prefix(repository, commit)
    // Those that are there now: a report under way may as well come after the removal.
    const keys = context === undefined ? (await this.#database.all(list)).map(([key]) => key) : [`${list}${context}`]
    const removed = await this.#writer.apply({
      size: keys.join('').length,
      reads: keys,
      decide: (values) => {
        const there = keys.filter((_, index) => values[index] !== undefined)
        return { operations: there.map((key) => ({ type: 'del', key })), result: there.length }
      },
    })
    this.#lists.forget(list)
    return removed
  }

  async count(repository: RepositoryName): Promise<number> {
    let found = 0
    for await (const _ of this.#database.scan(`${repository.full}/`)) found++
    return found
  }

  /** To be called when many statuses have come, moved or gone. */
  forgetLists(): void {
    this.#lists.clear()
  }

  /** To be called when statuses of these commits have gone. */
  forgetListsOf(repository: RepositoryName, statuses: readonly CommitStatus[]): void {
    for (const list of new Set(statuses.map(({ sha }) => `${repository.full}/${sha}/`))) this.#lists.forget(list)
  }

  /** What moves every status of a repository to another name. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<Operation> {
    const there = new Map(await this.#database.all(`${to.full}/`))
    for await (const [key, value] of this.#database.scan(`${from.full}/`)) {
      const newKey = to.full + key.slice(from.full.length)
      const other = there.get(newKey)
      yield { type: 'del', key }
      if (other === undefined || updatedAt(newKey, other) <= updatedAt(key, value)) {
        yield { type: 'put', key: newKey, value: rekeyed(key, newKey, value) }
      }
    }
  }

  /** What removes every status of a repository. */
  async *removals(name: RepositoryName): AsyncGenerator<Operation> {
    for await (const [key] of this.#database.scan(`${name.full}/`)) yield { type: 'del', key }
  }

  async *scan(repository: RepositoryName): AsyncGenerator<CommitStatus> {
    for await (const [key, value] of this.#database.scan(`${repository.full}/`)) yield fromStored(repository, key, value)
  }
}

/** `owner/repo/sha/context` */
const KEY = /^[\w.-]+\/[\w.-]+\/(?:[0-9a-f]{40}|[0-9a-f]{64})\/./s

/**
 * Whether this is the key of a status.
 * @throws StoreCorrupt when it is, and the value is damaged
 */
export function isStatus(key: string, value: string): boolean {
  if (!KEY.test(key)) return false
  decode(key, value, isStored)
  return true
}

/** When a status was updated last; a damaged value counts as older than any other. */
export function updatedAt(key: string, value: string): string {
  try {
    return decode(key, value, isStored).updated_at
  } catch {
    return ''
  }
}

/** A status as it is kept: its key and value. */
export function entryOf(repository: RepositoryName, { sha, context, ...stored }: CommitStatus): { key: string; value: string } {
  const key = `${repository.full}/${sha}/${context}`
  return { key, value: encode(key, stored) }
}

/**
 * Reads an entry back.
 * @param previous an entry that was read before, whose repository may be this one's too
 * @throws StoreCorrupt when it is no status, or damaged
 */
export function statusOf(key: string, value: string, previous?: RepositoryStatus): RepositoryStatus {
  const end = key.indexOf('/', key.indexOf('/') + 1)
  const full = key.slice(0, end)
  const repository = previous?.repository.full === full ? previous.repository : parseRepositoryName(full)
  if (!repository || !KEY.test(key)) throw damaged(key)
  return { repository, status: fromStored(repository, key, value) }
}

function prefix(repository: RepositoryName, commit: ObjectId): string {
  return `${repository.full}/${commit.hex}/`
}

function replaced(previous: CommitStatus | undefined, commit: ObjectId, report: Report, at: string): CommitStatus {
  return {
    id: previous?.id ?? randomBytes(9).toString('base64url'),
    sha: commit.hex,
    context: report.context,
    state: report.state,
    description: report.description,
    target_url: report.target_url,
    created_at: previous?.created_at ?? at,
    // Times of this form sort as text.
    updated_at: previous && previous.updated_at > at ? previous.updated_at : at,
  }
}

/** Without taking the JSON apart: its members stand in the order in which `replaced` makes them. */
function statusText({ hex }: ObjectId, key: string, value: string, context: string): StatusText {
  const text = decodeText(key, value)
  const [start, id, state] = /^\{"id":("[^"\\]*"),"state":"([a-z]+)"/.exec(text) ?? []
  if (start === undefined || id === undefined || state === undefined || !isState(state)) throw damaged(key)
  return { state, json: `{"id":${id},"sha":"${hex}","context":${JSON.stringify(context)},"state":"${state}"${text.slice(start.length)}` }
}

function fromStored(repository: RepositoryName, key: string, value: string): CommitStatus {
  const rest = key.slice(repository.full.length + 1)
  const sha = rest.slice(0, rest.indexOf('/'))
  const { id, ...fields } = decode(key, value, isStored)
  return { id, sha, context: rest.slice(sha.length + 1), ...fields }
}
