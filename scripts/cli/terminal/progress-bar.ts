import bars, { type SingleBar } from 'cli-progress'
import type { Progress } from '../../../lib/concurrency/task.js'
import type { Output } from './io.js'
import { describeProgress } from './progress-line.js'

/** Work that is done sooner shows nothing. */
const QUICK_MILLISECONDS = 500

const BAR = { barsize: 30, barCompleteString: '='.repeat(30), barIncompleteString: '-'.repeat(30), barGlue: '' }

/** Shows on a terminal how far long work is. */
export class ProgressBar {
  readonly #stream: Output
  readonly #beganAt = performance.now()
  #bar: SingleBar | undefined

  constructor(stream: Output) {
    this.#stream = stream
  }

  show(progress: Progress): void {
    if (performance.now() - this.#beganAt < QUICK_MILLISECONDS) return
    this.#bar ??= begun(this.#stream)
    this.#bar.update(progress.share ?? 0, { progress })
  }

  end(): void {
    this.#bar?.stop()
  }
}

function begun(stream: Output): SingleBar {
  const bar = new bars.SingleBar({
    stream,
    clearOnComplete: true,
    // A signal may end this process at any time, and would leave the terminal without it.
    linewrap: true,
    format: (_options, _parameters, { progress }: { progress?: Progress }) =>
      progress ? `${drawn(progress.share)}${describeProgress(progress)}` : '',
  })
  bar.start(1, 0, {})
  return bar
}

function drawn(share: number | undefined): string {
  return share === undefined ? '' : `[${bars.Format.BarFormat(share, BAR)}] `
}
