import type { HookRecord, HookStore } from '../../contracts/hooks.js'
import { hookExtras, hookMembers } from '../../contracts/records.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import { LevelOutbox } from './outbox.js'
import { contentCheck, decode, encode } from './record.js'
import type { LevelWriter } from './writer.js'

const HOOKS = '!hooks!'

const isHook = contentCheck<HookRecord, keyof typeof hookExtras>(hookMembers, hookExtras)

/** Hooks, all of which are in memory too once somebody delivers. */
export class LevelHooks implements HookStore {
  readonly outbox: LevelOutbox
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter

  constructor(database: LevelDatabase, writer: LevelWriter) {
    this.#database = database
    this.#writer = writer
    this.outbox = new LevelOutbox(database, writer, async () => await this.list())
  }

  async list(): Promise<HookRecord[]> {
    const hooks = (await this.#database.all(HOOKS)).map(([key, value]) => decode(key, value, isHook))
    return hooks.sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
  }

  async get(id: string): Promise<HookRecord | undefined> {
    const key = HOOKS + id
    const [value] = await this.#database.read([key])
    return value === undefined ? undefined : decode(key, value, isHook)
  }

  async add(hook: HookRecord): Promise<void> {
    const put = putOf(hook)
    const size = put.key.length + put.value.length
    await this.#writer.apply({
      size,
      reads: [],
      decide: () => {
        this.outbox.setHook(hook.id, hook)
        return { operations: [put], result: undefined }
      },
    })
  }

  async update(id: string, change: (hook: HookRecord) => HookRecord): Promise<HookRecord | undefined> {
    const key = HOOKS + id
    return await this.#writer.apply({
      size: key.length,
      reads: [key],
      decide: ([value]) => {
        if (value === undefined) return { operations: [], result: undefined }
        const hook = change(decode(key, value, isHook))
        this.outbox.setHook(id, hook)
        return { operations: [putOf(hook)], result: hook }
      },
    })
  }

  async remove(id: string): Promise<boolean> {
    const [database, outbox] = [this.#database, this.outbox]
    const key = HOOKS + id
    let isThere = false
    await this.#writer.applyAlone(async function* () {
      const [value] = await database.read([key])
      isThere = value !== undefined
      yield { type: 'del', key }
      yield* outbox.removalsFor(id)
      outbox.setHook(id, undefined)
    })
    return isThere
  }

  /** What moves the hooks on a repository to another name, in place of those there, and all that waits of it. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<BatchOperation> {
    yield* this.#removalsOn(to)
    for (const hook of await this.#on(from)) {
      const moved = { ...hook, on: to.full }
      yield putOf(moved)
      this.outbox.setHook(hook.id, moved)
    }
    yield* this.outbox.moves(from, to)
  }

  /** What removes the hooks on a repository, and all that waits of it. */
  async *removals(name: RepositoryName): AsyncGenerator<BatchOperation> {
    yield* this.#removalsOn(name)
    yield* this.outbox.removals(name)
  }

  async *#removalsOn(name: RepositoryName): AsyncGenerator<BatchOperation> {
    for (const { id } of await this.#on(name)) {
      yield { type: 'del', key: HOOKS + id }
      yield* this.outbox.removalsFor(id)
      this.outbox.setHook(id, undefined)
    }
  }

  async #on({ full }: RepositoryName): Promise<HookRecord[]> {
    return (await this.list()).filter(({ on }) => on === full)
  }
}

/** Whether this is the key of a hook. Throws as `isStatus`. */
export function isHookRecord(key: string, value: string): boolean {
  if (!key.startsWith(HOOKS)) return false
  decode(key, value, isHook)
  return true
}

function putOf(hook: HookRecord): BatchOperation & { type: 'put' } {
  const key = HOOKS + hook.id
  return { type: 'put', key, value: encode(key, hook) }
}
