import { runTask, type Progress, type Task } from '../../../lib/concurrency/task.js'
import { warn, type Io } from './io.js'
import { describeProgress } from './progress-line.js'

/** How often there is a line where there is no terminal. */
const LINE_MILLISECONDS = 5000

/**
 * Does long work to its end, and shows on standard error how far it is: a bar on a terminal, else a line now and then.
 * @param take gets what the work finds
 * @param isPrinting whether that goes to standard output: a bar is not drawn into it
 */
export async function withProgress<Result, Item>(
  io: Io,
  work: Task<Result, Item>,
  take: (items: readonly Item[]) => Promise<void> | void = () => undefined,
  isPrinting = false,
): Promise<Result> {
  const isBar = io.stderr.isTTY === true && !(isPrinting && io.stdout.isTTY)
  const display = isBar ? new (await import('./progress-bar.js')).ProgressBar(io.stderr) : new LineDisplay(io)
  try {
    return await runTask(work, async ({ items = [], progress }) => {
      if (items.length > 0) await take(items)
      if (progress) display.show(progress)
    })
  } finally {
    display.end()
  }
}

class LineDisplay {
  readonly #io: Io
  #saidAt = performance.now()

  constructor(io: Io) {
    this.#io = io
  }

  show(progress: Progress): void {
    if (performance.now() - this.#saidAt < LINE_MILLISECONDS) return
    this.#saidAt = performance.now()
    warn(this.#io, describeProgress(progress))
  }

  end(): void {
    // There is nothing to take away.
  }
}
