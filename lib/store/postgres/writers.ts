import { deferred } from '../../concurrency/deferred.js'
import type { Logger } from '../../contracts/logger.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { StoreUnavailable } from '../../errors.js'
import { Backlog } from '../bounded-queue.js'
import { PostgresWriter, type RowChange } from './writer.js'

type Send<T, R> = (rows: readonly T[]) => Promise<(R | Error)[]>

/** The ways to change the database. */
export interface Writers<T, R> {
  /** How many changes wait for their turn. */
  readonly waiting: number
  /** Throws as `PostgresWriter.apply`. */
  apply(repository: RepositoryName, change: RowChange<T>): Promise<R>
  /**
   * Does something while no other change of these repositories is under way; of none: of what is of no repository.
   * Throws as `PostgresWriter.applyAlone`.
   */
  applyAlone<A>(repositories: readonly RepositoryName[], work: () => Promise<A>): Promise<A>
  /** Refuses further changes; resolves when those that were accepted are done. */
  close(): Promise<void>
}

/** One way for everything. */
export function oneWriter<T, R>(send: Send<T, R>, logger: Logger): Writers<T, R> {
  const backlog = new Backlog()
  const writer = new PostgresWriter<T, R>(send, logger, undefined, backlog)
  return {
    get waiting() {
      return backlog.changes
    },
    apply: async (_, change) => await writer.apply(change),
    applyAlone: async (_, work) => await writer.applyAlone(work),
    close: async () => {
      await writer.close()
    },
  }
}

/** A way for each repository, and one for what is of none; the bounds of what waits are those of all together. */
export class RepositoryWriters<T, R> implements Writers<T, R> {
  readonly #send: Send<T, R>
  readonly #logger: Logger
  readonly #backlog = new Backlog()
  /** Writers that have something to do, and how many wait for it. */
  readonly #writers = new Map<string, { readonly writer: PostgresWriter<T, R>; users: number }>()
  #isClosed = false

  /** @param send as `PostgresWriter` has it; gets rows of one repository */
  constructor(send: Send<T, R>, logger: Logger) {
    this.#send = send
    this.#logger = logger
  }

  get waiting(): number {
    return this.#backlog.changes
  }

  async apply(repository: RepositoryName, change: RowChange<T>): Promise<R> {
    return await this.#with(repository, async (writer) => await writer.apply(change))
  }

  async applyAlone<A>([first, ...others]: readonly RepositoryName[], work: () => Promise<A>): Promise<A> {
    const done = deferred<undefined>()
    // All join their queues at once: no two wait for each other.
    const begun = Promise.all(
      others.map(async (repository) => {
        const turn = deferred<undefined>()
        this.#with(repository, async (writer) => {
          await writer.applyAlone(async () => {
            turn.resolve(undefined)
            await done.promise
          })
        }).catch(turn.reject)
        await turn.promise
      }),
    )
    // Whoever waits for it gets the failure.
    begun.catch(() => undefined)
    try {
      return await this.#with(
        first,
        async (writer) =>
          await writer.applyAlone(async () => {
            await begun
            return await work()
          }),
      )
    } finally {
      done.resolve(undefined)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#writers.values()].map(async ({ writer }) => await writer.close()))
  }

  async #with<A>(
    repository: RepositoryName | undefined,
    work: (writer: PostgresWriter<T, R>) => Promise<A>,
  ): Promise<A> {
    if (this.#isClosed) throw new StoreUnavailable('the store is closed')
    const key = repository?.full ?? ''
    const shared = this.#writers.get(key) ?? {
      writer: new PostgresWriter(this.#send, this.#logger, undefined, this.#backlog),
      users: 0,
    }
    this.#writers.set(key, shared)
    shared.users++
    try {
      return await work(shared.writer)
    } finally {
      shared.users--
      if (shared.users === 0) this.#writers.delete(key)
    }
  }
}
