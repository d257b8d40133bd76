/** How far long work is. */
export interface Progress {
  /** What is being done, in a word or two for an admin. */
  readonly phase: string
  /** How many were done in this phase. */
  readonly done: number
  /** About how much of the phase that is, 0 to 1; absent where nobody can tell. */
  readonly share?: number | undefined
}

/** What a piece of long work has come to. */
export interface Step<Item> {
  readonly items?: readonly Item[]
  readonly progress?: Progress
}

/**
 * Long work. It is done as it is iterated, in pieces of some milliseconds, and has a result at its end; to leave the
 * iteration ends it after the piece under way, with nothing left half-done.
 */
export type Work<Result, Item = never> = AsyncGenerator<Step<Item>, Result, undefined>

/** The items of a piece: enough to make up for what a piece costs, few enough for nobody to wait for it. */
export const PIECE = 250

/**
 * Does work to its end; rejects as it does.
 * @param take gets every step, and is awaited before the next; what it throws ends the work
 */
export async function carryOut<Result, Item>(work: Work<Result, Item>, take: (step: Step<Item>) => Promise<void> | void): Promise<Result> {
  try {
    for (;;) {
      const next = await work.next()
      if (next.done) return next.value
      await take(next.value)
    }
  } finally {
    await leave(work)
  }
}

/** The same work, which ends with the signal's reason once that is given. */
export async function* until<Result, Item>(signal: AbortSignal, work: Work<Result, Item>): Work<Result, Item> {
  try {
    for (;;) {
      const next = await work.next()
      if (next.done) return next.value
      signal.throwIfAborted()
      yield next.value
    }
  } finally {
    await leave(work)
  }
}

/** Ends work; harmless when it has come to its end. */
async function leave(work: AsyncGenerator<unknown, unknown>): Promise<void> {
  await work.return(undefined)
}

/** Items, some at a time. */
export async function* inPieces<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let piece: Item[] = []
  for await (const item of items) {
    piece.push(item)
    if (piece.length < PIECE) continue
    yield piece
    piece = []
  }
  if (piece.length > 0) yield piece
}
