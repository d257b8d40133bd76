import { randomUUID } from 'node:crypto'
import type { HookRecord, Outbox, OutboxEntry } from '../../contracts/hooks.js'
import type { State } from '../../domain/commit-status.js'
import { isPushText } from '../../domain/push.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { HookIndex, laneOf, type Note } from '../hook-index.js'
import type { BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import {
  BROKEN,
  brokenAt,
  brokenKey,
  brokenPut,
  entryAt,
  hookOf,
  OUTBOX,
  outboxKey,
  outboxPut,
  waitingAt,
} from './outbox-record.js'
import { rekeyed } from './record.js'
import { WaitingQueue } from './waiting-queue.js'
import type { LevelWriter } from './writer.js'

/** What is to be noted with a status, and where. */
interface KeyedNote extends Note {
  readonly repository: RepositoryName
  readonly key: string
}

type NotedSubject = Pick<OutboxEntry, 'hook' | 'repository' | 'subject'>

/** What is noted with a status. */
export interface Noted {
  /** To be written with it. */
  readonly entries: readonly OutboxEntry[]
  /** What waits already. */
  readonly held: readonly NotedSubject[]
}

const PREFIXES = [OUTBOX, BROKEN]

/**
 * What waits to be told: on disk, in the batch of its status; and as soon as somebody delivers, the keys of it in
 * memory.
 */
export class LevelOutbox implements Outbox {
  /** Whether nothing is noted, whatever is saved. */
  isIdle = true
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #queues = new Map<string, WaitingQueue>()
  readonly #readHooks: () => Promise<HookRecord[]>
  #hooks = new Map<string, HookRecord>()
  #index = new HookIndex([])
  #noted: ((hooks: Iterable<string>) => void) | undefined
  #loading: Promise<void> | undefined
  /** When the latest that is known was noted, milliseconds since 1970 UTC. */
  #latest = 0

  constructor(database: LevelDatabase, writer: LevelWriter, readHooks: () => Promise<HookRecord[]>) {
    this.#database = database
    this.#writer = writer
    this.#readHooks = readHooks
    database.onReopen(() => {
      this.reload()
    })
  }

  async open(noted: (hooks: Iterable<string>) => void): Promise<void> {
    this.#noted = noted
    await this.#loaded()
  }

  /** To be called in the turn of the writer in which a hook is made, changed or removed. */
  setHook(id: string, hook: HookRecord | undefined): void {
    if (hook) this.#hooks.set(id, hook)
    else this.#hooks.delete(id)
    if (!hook) this.#queues.delete(id)
    this.#setIndex()
  }

  /** What is to be noted with a status. */
  notes(repository: RepositoryName, sha: string, context: string, state: State): readonly KeyedNote[] {
    const notes = this.#index.notes(repository, sha, context, state)
    return notes.map((note) => ({ ...note, repository, key: outboxKey({ ...note, repository }) }))
  }

  /**
   * What notes it. What waits already, and was not tried yet, is not written again: it is kept from whoever delivers
   * until `written` or `givenUp` says that the status is there, or not.
   * @param values what is there now, at the keys of the notes
   * @param from the state before
   */
  entriesOf(
    notes: readonly KeyedNote[],
    values: readonly (string | undefined)[],
    from: State | null,
    at: number,
  ): Noted {
    const since = new Date(at).toISOString()
    const [entries, held]: [OutboxEntry[], NotedSubject[]] = [[], []]
    for (const [index, { hook, repository, subject, key }] of notes.entries()) {
      // A hook may have been removed meanwhile.
      if (!this.#hooks.has(hook)) continue
      const waiting = waitingAt(key, values[index])
      const { taken, waiting: known } = this.#queueOf(hook)
      const lane = laneOf({ repository, subject })
      if (waiting && known.get(key)?.isUntried === true && !taken.has(lane)) {
        taken.add(lane)
        held.push({ hook, repository, subject })
      } else entries.push({ hook, repository, subject, since, from, ...waiting, delivery: randomUUID() })
    }
    return { entries, held }
  }

  /** To be called once the status of `noted` is on disk. */
  written({ entries, held }: Noted): void {
    for (const entry of entries) this.#queueOf(entry.hook).add(outboxKey(entry), entry)
    this.givenUp({ held })
    this.#noted?.(new Set([...entries, ...held].map(({ hook }) => hook)))
  }

  /** To be called once the status of `noted` was not saved. */
  givenUp({ held }: Pick<Noted, 'held'>): void {
    for (const subject of held) this.#queueOf(subject.hook).taken.delete(laneOf(subject))
  }

  async claim(hook: string, max: number): Promise<OutboxEntry[]> {
    await this.#loaded()
    const queue = this.#queueOf(hook)
    queue.sort()
    const { waiting, taken } = queue
    const chosen: { key: string; lane: string }[] = []
    for (const [key, entry] of waiting) {
      if (chosen.length === max) break
      const lane = laneOf(entry)
      if (taken.has(lane)) continue
      taken.add(lane)
      entry.isUntried = false
      chosen.push({ key, lane })
    }
    const values = await this.#database.read(chosen.map(({ key }) => key)).catch((error: unknown) => {
      for (const { lane } of chosen) taken.delete(lane)
      throw error
    })
    return chosen.flatMap(({ key, lane }, index) => {
      const entry = entryAt(key, values[index])
      if (entry) return [entry]
      queue.waiting.delete(key)
      taken.delete(lane)
      return []
    })
  }

  async settle(entry: OutboxEntry, told: State | null, broken?: readonly string[]): Promise<void> {
    const key = outboxKey(entry)
    await this.#writer.apply({
      size: 2 * key.length,
      reads: [key],
      decide: ([value]) => {
        const found = waitingAt(key, value)
        // Of a repository that was deleted or renamed meanwhile nothing is kept.
        if (!found) return { operations: [], result: undefined }
        const isSame = found.delivery === entry.delivery
        const rest: BatchOperation = isSame ? { type: 'del', key } : outboxPut({ ...entry, ...found, from: told })
        const marks = broken ? [brokenPut(brokenKey(entry.repository, entry.hook), broken)] : []
        return { operations: [rest, ...marks], result: undefined }
      },
    })
    const queue = this.#queueOf(entry.hook)
    if (queue.waiting.get(key)?.delivery === entry.delivery) queue.waiting.delete(key)
    await this.release(entry)
  }

  async mark(entry: OutboxEntry, broken: readonly string[]): Promise<void> {
    const [key, marks] = [outboxKey(entry), brokenPut(brokenKey(entry.repository, entry.hook), broken)]
    await this.#writer.apply({
      size: 2 * key.length,
      reads: [key],
      decide: ([value]) => ({ operations: waitingAt(key, value) ? [marks] : [], result: undefined }),
    })
  }

  release(entry: OutboxEntry): Promise<void> {
    this.#queueOf(entry.hook).taken.delete(laneOf(entry))
    return Promise.resolve()
  }

  async broken(hook: string, repository: RepositoryName): Promise<readonly string[]> {
    const key = brokenKey(repository, hook)
    const [value] = await this.#database.read([key])
    return brokenAt(key, value)
  }

  async add(entries: readonly OutboxEntry[]): Promise<void> {
    await this.#loaded()
    const keys = entries.map(outboxKey)
    const added = await this.#writer.apply({
      size: 2 * keys.reduce((sum, key) => sum + key.length, 0),
      reads: keys,
      decide: (values) => {
        const added = entries.filter((_, index) => values[index] === undefined)
        const result = added.map((entry) => this.#inOrder(entry))
        return { operations: result.map(outboxPut), result }
      },
    })
    this.written({ entries: added, held: [] })
  }

  async drop(hook: string): Promise<void> {
    await this.#writer.applyAlone(() => this.removalsFor(hook))
    this.#queues.delete(hook)
  }

  async waiting(): Promise<ReadonlyMap<string, { readonly count: number; readonly since: string }>> {
    await this.#loaded()
    const found = [...this.#queues].flatMap(([hook, queue]) => {
      queue.sort()
      const [oldest] = queue.waiting.values()
      return oldest ? [[hook, { count: queue.waiting.size, since: oldest.since }] as const] : []
    })
    return new Map(found)
  }

  /** To be called when what waits has come or gone otherwise than with a status. */
  reload(): void {
    this.#loading = undefined
    this.#noted?.(this.#hooks.keys())
  }

  /** What removes all that is kept for a hook. */
  async *removalsFor(hook: string): AsyncGenerator<BatchOperation> {
    for (const prefix of PREFIXES)
      for await (const key of this.#database.keys(prefix)) if (hookOf(prefix, key) === hook) yield { type: 'del', key }
  }

  /** What moves all that is kept of a repository to another name. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<BatchOperation> {
    for (const prefix of PREFIXES)
      for await (const [key, value] of this.#database.scan(`${prefix}${from.escaped}/`)) {
        const newKey = `${prefix}${to.escaped}${key.slice(prefix.length + from.escaped.length)}`
        yield { type: 'del', key }
        yield { type: 'put', key: newKey, value: rekeyed(key, newKey, value) }
      }
  }

  /** What removes all that is kept of a repository. */
  async *removals({ escaped }: RepositoryName): AsyncGenerator<BatchOperation> {
    for (const prefix of PREFIXES)
      for await (const key of this.#database.keys(`${prefix}${escaped}/`)) yield { type: 'del', key }
  }

  /** A push waits since a time later than all before: after a start it is the order of what waits. */
  #inOrder(entry: OutboxEntry): OutboxEntry {
    if (!isPushText(entry.subject)) return entry
    this.#latest = Math.max(Date.parse(entry.since), this.#latest + 1)
    return { ...entry, since: new Date(this.#latest).toISOString() }
  }

  async #loaded(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    await this.#loading
  }

  /** Reads the keys of what waits. What has gone since it was read is forgotten when its turn comes. */
  async #load(): Promise<void> {
    await this.#writer.applyAlone(() => this.#hooksInTurn())
    for (const { waiting } of this.#queues.values()) waiting.clear()
    for await (const [key, value] of this.#database.scan(OUTBOX)) {
      const entry = entryAt(key, value)
      if (!entry || !this.#hooks.has(entry.hook)) continue
      this.#latest = Math.max(this.#latest, Date.parse(entry.since))
      if (!this.#queueOf(entry.hook).waiting.has(key)) this.#queueOf(entry.hook).waiting.set(key, entry)
    }
    for (const queue of this.#queues.values()) queue.isMixed = true
  }

  /** Reads the hooks when no change of them is under way. */
  async *#hooksInTurn(): AsyncGenerator<never> {
    this.#hooks = new Map((await this.#readHooks()).map((hook) => [hook.id, hook]))
    this.#setIndex()
    yield* []
  }

  #setIndex(): void {
    this.#index = new HookIndex(this.#hooks.values())
    // Nothing is noted where nobody delivers.
    this.isIdle = this.#hooks.size === 0 || this.#noted === undefined
  }

  #queueOf(hook: string): WaitingQueue {
    const queue = this.#queues.get(hook) ?? new WaitingQueue()
    this.#queues.set(hook, queue)
    return queue
  }
}
