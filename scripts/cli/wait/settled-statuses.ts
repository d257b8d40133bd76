import stringWidth from 'string-width'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { byUrgency, type CommitStatus } from '../../../lib/domain/commit-status.js'
import type { StatusList } from '../../../lib/domain/status-list.js'
import type { Verdict } from '../../../lib/domain/verdict/verdict.js'
import { paintedText } from '../terminal/colours.js'
import { hasColours, printLine, type Io, type Output } from '../terminal/io.js'
import { table } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'

/** Prints each status once when it settles; on a terminal, a table that is drawn anew in its place. */
export class SettledStatuses {
  readonly #io: Io
  readonly #json: boolean
  readonly #isColoured: boolean
  readonly #isLive: boolean
  /** Of each context, what was printed last. */
  readonly #printed = new Map<string, string>()
  #drawn = 0
  #list: StatusList | undefined

  constructor(io: Io, json: boolean) {
    this.#io = io
    this.#json = json
    this.#isColoured = hasColours(io)
    this.#isLive = !json && io.stdout.isTTY === true
  }

  /** The list that was shown last. */
  get list(): StatusList | undefined {
    return this.#list
  }

  show(list: StatusList): void {
    this.#list = list
    if (this.#isLive) this.#draw(list)
    else for (const status of list.statuses) this.#print(status)
  }

  /** Prints the verdict. @returns what it is given */
  end(verdict: Verdict, exitStatus: number): number {
    printLine(this.#io, this.#json ? jsonLine(verdict) : `verdict: ${paintedText(verdict.verdict, this.#isColoured)}`)
    return exitStatus
  }

  #print(status: CommitStatus): void {
    const { context, state, updated_at, description, target_url } = status
    const now = `${state} ${updated_at}`
    if (state === 'pending') this.#printed.delete(context)
    if (state === 'pending' || this.#printed.get(context) === now) return
    this.#printed.set(context, now)
    const words = [
      paintedText(state, this.#isColoured),
      ...[context, description, target_url].flatMap((text) => (text ? [visible(text)] : [])),
    ]
    printLine(this.#io, this.#json ? jsonLine(status) : words.join('  '))
  }

  #draw({ statuses }: StatusList): void {
    const text = this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : ''
    const lines = linesOf(statuses, this.#io.stdout, this.#isColoured)
    this.#io.stdout.write(text + lines.map((line) => `${line}\n`).join(''))
    this.#drawn = lines.length
  }
}

/** The size of a terminal that does not report one. */
const USUAL = { columns: 80, rows: 24 }

/** Of a row, its state and the spaces between its columns. */
const STATE_COLUMNS = 'success'.length + 4

/** As many lines as fit, each on one line of the terminal: the cursor cannot go back over others. */
function linesOf(statuses: readonly CommitStatus[], { columns = 0, rows = 0 }: Output, isColoured: boolean): string[] {
  const width = Math.max(20, (columns || USUAL.columns) - 1 - STATE_COLUMNS)
  const height = Math.max(2, (rows || USUAL.rows) - 1)
  // The line below is for what is left out.
  const some = statuses.length <= height ? statuses : byUrgency(statuses).slice(0, height - 1)
  const cells = some.map(({ state, context, description }) => [
    paintedText(state, isColoured),
    visible(context),
    visible(description ?? ''),
  ])
  if (cells.length === 0) return []
  const contexts = Math.max(...cells.map(([, context = '']) => stringWidth(context)))
  const descriptions = Math.max(...cells.map(([, , description = '']) => stringWidth(description)))
  // A context may have what a description does not need, and half of the line in any case.
  const cut = Math.min(contexts, Math.max(width - descriptions, Math.ceil(width / 2)))
  const lines = table([], cells, [null, cut, Math.min(descriptions, width - cut)]).split('\n')
  return some.length < statuses.length ? [...lines, `… ${statuses.length - some.length} more`] : lines
}
