import bars, { type SingleBar } from 'cli-progress'
import { carryOut, type Progress, type Work } from '../../lib/work.js'

/** Work that is done sooner shows nothing. */
const QUICK_MILLISECONDS = 500

/** How often there is a line where there is no terminal. */
const LINE_MILLISECONDS = 5000

const BAR = { barsize: 30, barCompleteString: '='.repeat(30), barIncompleteString: '-'.repeat(30), barGlue: '' }

/**
 * Does long work to its end, and shows on standard error how far it is: a bar on a terminal, else a line now and then.
 * @param take gets what the work finds
 * @param isPrinting whether that goes to standard output: a bar is not drawn into it
 */
export async function watched<Result, Item>(work: Work<Result, Item>, take: (items: readonly Item[]) => Promise<void> | void = () => undefined, isPrinting = false): Promise<Result> {
  const display = process.stderr.isTTY && !(isPrinting && process.stdout.isTTY) ? new BarDisplay() : new LineDisplay()
  try {
    return await carryOut(work, async ({ items = [], progress }) => {
      if (items.length > 0) await take(items)
      if (progress) display.show(progress)
    })
  } finally {
    display.end()
  }
}

class LineDisplay {
  #saidAt = performance.now()

  show(progress: Progress): void {
    if (performance.now() - this.#saidAt < LINE_MILLISECONDS) return
    this.#saidAt = performance.now()
    console.error(`commit-status: ${inWords(progress)}`)
  }

  end(): void {
    // There is nothing to take away.
  }
}

class BarDisplay {
  readonly #beganAt = performance.now()
  #bar: SingleBar | undefined

  show(progress: Progress): void {
    if (performance.now() - this.#beganAt < QUICK_MILLISECONDS) return
    this.#bar ??= begun()
    this.#bar.update(progress.share ?? 0, { progress })
  }

  end(): void {
    this.#bar?.stop()
  }
}

function begun(): SingleBar {
  const bar = new bars.SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    // A signal may end this process at any time, and would leave the terminal without it.
    linewrap: true,
    format: (_options, _parameters, { progress }: { progress?: Progress }) => (progress ? `${progress.share === undefined ? '' : `[${bars.Format.BarFormat(progress.share, BAR)}] `}${inWords(progress)}` : ''),
  })
  bar.start(1, 0, {})
  return bar
}

function inWords({ phase, done, share }: Progress): string {
  const percentage = share === undefined ? '' : ` ${Math.floor(share * 100)} %,`
  return `${phase}:${percentage} ${done.toLocaleString('en')} done`
}
