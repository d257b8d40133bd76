import type { HookRecord, Outbox, OutboxEntry } from '../../contracts/hooks.js'
import type { State } from '../../domain/commit-status.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { HookIndex, laneOf } from '../hook-index.js'
import type { Connection } from './connection.js'
import type { PostgresDatabase } from './database.js'
import { Lease } from './lease.js'
import {
  addToOutbox,
  BROKEN_OF,
  entryOf,
  LOCK_ENTRY,
  noteInOutbox,
  OLDEST,
  REMOVE_BROKEN,
  REMOVE_ENTRY,
  REMOVE_HOOK,
  SET_BROKEN,
  SET_FROM,
  WAITING,
  type OutboxRow,
} from './outbox-rows.js'
import { entriesFor, notesFor, type Noted, type Notes, type ReportNote } from './report-notes.js'
import { ALL_HOOKS, versionOf } from './repository-versions.js'
import { repositoryKey, repositoryText, type ReportRow } from './status-rows.js'

/** How often it is looked what other instances have noted, and whether the one that delivers is still there. */
const INTERVAL_MILLISECONDS = 1_000

/** How many entries are read at a time: more than are taken at once, as some may be of what is taken already. */
const PAGE_ROWS = 100

/** Is called with ids of hooks. */
type Woken = (hooks: Iterable<string>) => void

/** The hooks as they were last read. */
interface KnownHooks {
  readonly version: string | null
  readonly ids: ReadonlySet<string>
  readonly index: HookIndex
}

/**
 * What waits to be told, in the database alone. Every instance notes, in the transaction of the status, and one of them
 * delivers: what it has taken is in its memory, and free again when its lease is over.
 */
export class PostgresOutbox implements Outbox {
  readonly #database: PostgresDatabase
  readonly #statuses: PostgresDatabase
  readonly #readHooks: () => Promise<HookRecord[]>
  readonly #lease: Lease
  /** Lanes by hook. */
  readonly #taken = new Map<string, Set<string>>()
  #known: KnownHooks | undefined
  /** Who delivers here, if anybody does. */
  #deliverers: readonly { readonly noted: Woken; readonly changed: Woken }[] = []
  /** What was seen last of hooks for which something waits. */
  #seen: ReadonlyMap<string, string> = new Map()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()

  /** @param statuses where these are, and what waits; over connections of its own where they are on other nodes */
  constructor(database: PostgresDatabase, statuses: PostgresDatabase, readHooks: () => Promise<HookRecord[]>) {
    this.#database = database
    this.#statuses = statuses
    this.#readHooks = readHooks
    this.#lease = new Lease(database, 'hooks')
  }

  async open(noted: Woken, changed: Woken = () => undefined): Promise<void> {
    await this.#stop()
    this.#deliverers = [{ noted, changed }]
    await this.#look()
    this.#lookLater()
  }

  /** What is to be noted with reports, by what is known of the hooks. */
  notesOf(reports: readonly ReportRow[]): Notes {
    const known = this.#known
    if (!known || known.ids.size === 0) return { version: known?.version, notes: [] }
    return { version: known.version, notes: notesFor(known.index, reports) }
  }

  /**
   * To be called once reports are saved, before somebody hears of it: notes them for hooks that were not known.
   * @param rows what was saved of each of them
   * @throws StoreUnavailable
   */
  async saved(
    { version, notes }: Notes,
    reports: readonly ReportRow[],
    rows: readonly (Noted | undefined)[],
  ): Promise<void> {
    if (version === undefined) return
    const isStale = rows.some((row) => row && row.hooks_version !== version)
    const late = isStale ? await this.#noteLate(notes, reports, rows) : []
    this.#wake(new Set([...notes.map(({ entry }) => entry), ...late].map(({ hook }) => hook)))
  }

  async claim(hook: string, max: number): Promise<OutboxEntry[]> {
    if (!this.#lease.isHeld) return []
    const taken = this.#takenOf(hook)
    // What is given back meanwhile may have been told: it is read again for the next who asks.
    const lanes = new Set(taken)
    const found: OutboxEntry[] = []
    for (let offset = 0; found.length < max; offset += PAGE_ROWS) {
      const rows = await this.#statuses.query<OutboxRow>(OLDEST, [hook, PAGE_ROWS, offset])
      for (const entry of rows.map(entryOf)) {
        if (!entry || lanes.has(laneOf(entry))) continue
        lanes.add(laneOf(entry))
        found.push(entry)
      }
      if (rows.length < PAGE_ROWS) break
    }
    const claimed = found.slice(0, max).filter((entry) => !taken.has(laneOf(entry)))
    for (const entry of claimed) taken.add(laneOf(entry))
    return claimed
  }

  async settle(entry: OutboxEntry, told: State | null, broken?: readonly string[]): Promise<void> {
    await this.#change(entry, broken, async (connection, key, delivery) => {
      if (delivery === entry.delivery) await connection.change(REMOVE_ENTRY, key)
      else await connection.change(SET_FROM, [...key, told])
    })
    await this.release(entry)
  }

  async mark(entry: OutboxEntry, broken: readonly string[]): Promise<void> {
    await this.#change(entry, broken, () => Promise.resolve())
  }

  release(entry: OutboxEntry): Promise<void> {
    this.#takenOf(entry.hook).delete(laneOf(entry))
    return Promise.resolve()
  }

  async broken(hook: string, repository: RepositoryName): Promise<readonly string[]> {
    const policy = { repositories: [repositoryText(repository)] }
    const rows = await this.#statuses.query<{ branches: string[] }>(
      BROKEN_OF,
      [repositoryKey(repository), hook],
      policy,
    )
    return rows.flatMap(({ branches }) => branches)
  }

  async add(entries: readonly OutboxEntry[]): Promise<void> {
    await this.#insert(addToOutbox, entries)
    this.#wake(new Set(entries.map(({ hook }) => hook)))
  }

  async drop(hook: string): Promise<void> {
    for (const statement of REMOVE_HOOK) await this.#statuses.change(statement, [hook])
  }

  async waiting(): Promise<ReadonlyMap<string, { readonly count: number; readonly since: string }>> {
    const rows = await this.#statuses.query<{ hook: string; count: number; since: string }>(WAITING, [])
    return new Map(
      rows.map(({ hook, count, since }) => [hook, { count, since: new Date(Number(since)).toISOString() }]),
    )
  }

  /** To be called when hooks were made, changed or removed here: others learn of it with their next report. */
  async changed(): Promise<void> {
    if (this.#known) await this.#refresh()
  }

  /** Lets another instance deliver. */
  async close(): Promise<void> {
    await this.#stop()
    await this.#lease.release()
  }

  /** Learns of hooks that were made, changed or removed. */
  async #refresh(): Promise<KnownHooks> {
    // First its version: where the hooks are newer, they are read once more.
    const version = await versionOf(this.#database, ALL_HOOKS)
    if (this.#known?.version === version) return this.#known
    const hooks = await this.#readHooks()
    return (this.#known = { version, ids: new Set(hooks.map(({ id }) => id)), index: new HookIndex(hooks) })
  }

  async #noteLate(
    notes: readonly ReportNote[],
    reports: readonly ReportRow[],
    rows: readonly (Noted | undefined)[],
  ): Promise<OutboxEntry[]> {
    await this.#refresh()
    const known = new Set(notes.map(({ entry }) => keyOf(entry)))
    const saved = new Map(reports.map((report, index) => [report, rows[index]]))
    const entries = entriesFor(this.notesOf(reports).notes, (report) => saved.get(report))
    const late = entries.filter((entry) => !known.has(keyOf(entry)))
    await this.#insert(noteInOutbox, late)
    return late
  }

  /** Sees to it that somebody delivers, and that it is woken for what others have noted. */
  async #look(): Promise<void> {
    const { ids } = await this.#refresh()
    if (ids.size === 0) return
    await this.#lease.renew()
    if (!this.#lease.isHeld) return
    const waiting = await this.waiting()
    const hooks = [...waiting.keys()]
    this.#wake(hooks)
    await this.#lookForChanges(waiting)
    const unknown = hooks.filter((id) => !ids.has(id))
    if (unknown.length > 0) await this.#dropGone(unknown)
  }

  /** What a deliverer that rests goes by: it is not woken for everything that is noted. */
  async #lookForChanges(waiting: ReadonlyMap<string, { readonly count: number }>): Promise<void> {
    if (waiting.size === 0) return
    const seen = new Map(
      (await this.#readHooks()).map(({ id, state, next_attempt_at }) => {
        const thousands = Math.floor((waiting.get(id)?.count ?? 0) / 1000)
        return [id, `${state} ${next_attempt_at} ${thousands}`]
      }),
    )
    const changed = [...seen].flatMap(([id, now]) => (now === this.#seen.get(id) ? [] : id))
    this.#seen = seen
    for (const deliverer of this.#deliverers) deliverer.changed(changed)
  }

  /** Removes what was noted for hooks while they were removed. */
  async #dropGone(hooks: readonly string[]): Promise<void> {
    const { ids } = await this.#refresh()
    for (const id of hooks.filter((id) => !ids.has(id))) await this.drop(id)
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      // The store says itself that its database is away.
      this.#looking = this.#look()
        .catch(() => undefined)
        .then(() => {
          this.#lookLater()
        })
    }, INTERVAL_MILLISECONDS).unref()
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#looking
    clearTimeout(this.#timer)
  }

  #wake(hooks: Iterable<string>): void {
    if (this.#lease.isHeld) for (const { noted } of this.#deliverers) noted(hooks)
  }

  async #insert(insert: typeof noteInOutbox, entries: readonly OutboxEntry[]): Promise<void> {
    const byRepository = new Map<string, OutboxEntry[]>()
    for (const entry of entries) {
      const repository = repositoryText(entry.repository)
      byRepository.set(repository, [...(byRepository.get(repository) ?? []), entry])
    }
    for (const [repository, some] of byRepository)
      await this.#statuses.run(async (connection) => await insert(connection, some), { repositories: [repository] })
  }

  /** Changes an entry and marks of branches; of a repository that was deleted or renamed meanwhile nothing is kept. */
  async #change(
    { repository, hook, subject }: OutboxEntry,
    broken: readonly string[] | undefined,
    work: (connection: Connection, key: unknown[], delivery: string) => Promise<void>,
  ): Promise<void> {
    const [of, key] = [repositoryKey(repository), [repositoryKey(repository), hook, Buffer.from(subject)]]
    const policy = { repositories: [repositoryText(repository)] }
    await this.#statuses.run(async (connection) => {
      await connection.transaction(async () => {
        const [found] = await connection.query<Pick<OutboxRow, 'delivery'>>(LOCK_ENTRY, key)
        if (!found) return
        await work(connection, key, found.delivery)
        if (broken?.length === 0) await connection.change(REMOVE_BROKEN, [of, hook])
        else if (broken) await connection.change(SET_BROKEN, [of, hook, broken])
      })
    }, policy)
  }

  #takenOf(hook: string): Set<string> {
    const taken = this.#taken.get(hook) ?? new Set()
    this.#taken.set(hook, taken)
    return taken
  }
}

function keyOf({ repository, hook, subject }: OutboxEntry): string {
  return `${repository.full} ${hook} ${subject}`
}
