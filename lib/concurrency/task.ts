/** How far a long task is. */
export interface Progress {
  /** What is being done, in a word or two for an admin. */
  readonly phase: string
  /** How many items of this phase are done. */
  readonly done: number
  /** About how much of the phase that is, 0 to 1; absent where nothing shows it. */
  readonly share?: number | undefined
}

/** What one step of a long task has come to. */
export interface TaskStep<Item> {
  readonly items?: readonly Item[]
  readonly progress?: Progress
}

/**
 * A long task. It runs as it is iterated, in steps of some milliseconds, and its result is the generator's return
 * value. Leaving the iteration ends the task after the step under way, with nothing left half-done.
 */
export type Task<Result, Item = never> = AsyncGenerator<TaskStep<Item>, Result, undefined>

/** The items of one step: enough to make up for what a step costs, few enough for nobody to wait for it. */
export const BATCH_SIZE = 250

/**
 * Runs a task to its end; rejects as it does.
 * @param take gets every step, and is awaited before the next; what it throws ends the task
 */
export async function runTask<Result, Item>(
  task: Task<Result, Item>,
  take: (step: TaskStep<Item>) => Promise<void> | void,
): Promise<Result> {
  try {
    for (;;) {
      const next = await task.next()
      if (next.done) return next.value
      await take(next.value)
    }
  } finally {
    await cancel(task)
  }
}

/** The same task, which ends with the signal's reason once that is given. */
export async function* withSignal<Result, Item>(signal: AbortSignal, task: Task<Result, Item>): Task<Result, Item> {
  try {
    for (;;) {
      const next = await task.next()
      if (next.done) return next.value
      signal.throwIfAborted()
      yield next.value
    }
  } finally {
    await cancel(task)
  }
}

/** Ends a task; harmless when it has come to its end. */
export async function cancel(task: AsyncGenerator<unknown, unknown>): Promise<void> {
  await task.return(undefined)
}

/** Items, `BATCH_SIZE` at a time. */
export async function* batches<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
