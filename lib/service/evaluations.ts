import { setImmediate } from 'node:timers/promises'
import type { StoredStatus } from '../domain/commit-status.js'
import type { ObjectId } from '../domain/object-id.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { VerdictBuilder } from '../domain/verdict/verdict.js'

/** Milliseconds after which an evaluation gives up its turn of the event loop. */
const TURN_MILLISECONDS = 4

/** The evaluations that share a read of a commit's statuses, by their rule. */
interface Batch {
  readonly commit: ObjectId
  readonly evaluations: Map<string, VerdictBuilder>
  readonly done: Promise<void>
  readonly settle: (reading: Promise<void>) => void
}

/** Reads the statuses of a commit, some at a time. */
type ReadPages = (repository: RepositoryName, commit: ObjectId) => AsyncIterable<readonly StoredStatus[]>

/** Reads of a repository at a time: with a database some way off, one after the other would take long. */
const MAX_READS = 4

/** What is asked of a repository. */
interface Queue {
  /** The batches that have not begun, by commit. */
  readonly batches: Map<string, Batch>
  /** The commits that are being read, each once at a time: all who ask meanwhile share the next read. */
  readonly reading: Set<string>
}

/**
 * Runs evaluations of commits (verdicts) so that many of them, and dear ones, hold up nobody: of a repository few
 * commits are read at a time, whoever asks for a commit before its read begins shares it, equal questions share one
 * evaluation, and a long one takes turns with other requests.
 */
export class Evaluations {
  readonly #readPages: ReadPages
  readonly #queues = new Map<string, Queue>()

  constructor(readPages: ReadPages) {
    this.#readPages = readPages
  }

  /**
   * Evaluates the statuses of a commit as they are now or later: a report that was acknowledged before the call counts.
   * @param key the same for equal rules
   * @returns the evaluation that has them all: of `make`, or of somebody who has asked the same
   * @throws what reading throws
   */
  async run(
    repository: RepositoryName,
    commit: ObjectId,
    key: string,
    make: () => VerdictBuilder,
  ): Promise<VerdictBuilder> {
    const queue = this.#queues.get(repository.full) ?? newQueue()
    this.#queues.set(repository.full, queue)
    const batch = queue.batches.get(commit.hex) ?? newBatch(commit)
    queue.batches.set(commit.hex, batch)
    const evaluation = batch.evaluations.get(key) ?? make()
    batch.evaluations.set(key, evaluation)
    this.#readNext(repository, queue)
    await batch.done
    return evaluation
  }

  #readNext(repository: RepositoryName, queue: Queue): void {
    const { batches, reading } = queue
    for (const [id, batch] of batches) {
      if (reading.size >= MAX_READS) return
      if (reading.has(id)) continue
      // From here on who asks has to see what was reported since: a batch of its own, at the end of the line.
      batches.delete(id)
      reading.add(id)
      const read = this.#read(repository, batch).finally(() => {
        reading.delete(id)
        this.#readNext(repository, queue)
      })
      batch.settle(read)
    }
    if (reading.size === 0) this.#queues.delete(repository.full)
  }

  async #read(repository: RepositoryName, { commit, evaluations }: Batch): Promise<void> {
    let turn = performance.now()
    for await (const page of this.#readPages(repository, commit)) {
      for (const status of page) {
        for (const evaluation of evaluations.values()) evaluation.add(status)
        if (performance.now() - turn < TURN_MILLISECONDS) continue
        await setImmediate()
        turn = performance.now()
      }
    }
  }
}

function newQueue(): Queue {
  return { batches: new Map(), reading: new Set() }
}

function newBatch(commit: ObjectId): Batch {
  /* c8 ignore next -- replaced before anybody can call it */
  let settle: Batch['settle'] = () => undefined
  const done = new Promise<void>((resolve) => (settle = resolve))
  return { commit, evaluations: new Map(), done, settle }
}
