import { jsonLine } from '../../../lib/admin/ndjson.js'
import type { CommitStatus } from '../../../lib/commit-status.js'
import type { StatusList } from '../../../lib/status-list.js'
import type { Verdict } from '../../../lib/verdict/verdict.js'
import { paintedText } from '../terminal/colours.js'
import { table } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'

/** Prints each status once when it settles; on a terminal, a table that is drawn anew in its place. */
export class SettledStatuses {
  readonly #json: boolean
  readonly #isLive: boolean
  /** Of each context, what was printed last. */
  readonly #printed = new Map<string, string>()
  #drawn = 0
  #list: StatusList | undefined

  constructor(json: boolean) {
    this.#json = json
    this.#isLive = !json && process.stdout.isTTY
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
    console.log(this.#json ? jsonLine(verdict) : `verdict: ${paintedText(verdict.verdict)}`)
    return exitStatus
  }

  #print(status: CommitStatus): void {
    const { context, state, updated_at, description, target_url } = status
    const now = `${state} ${updated_at}`
    if (state === 'pending') this.#printed.delete(context)
    if (state === 'pending' || this.#printed.get(context) === now) return
    this.#printed.set(context, now)
    const words = [
      paintedText(state),
      ...[context, description, target_url].flatMap((text) => (text ? [visible(text)] : [])),
    ]
    console.log(this.#json ? jsonLine(status) : words.join('  '))
  }

  #draw({ statuses }: StatusList): void {
    const rows = statuses.map(({ state, context, description }) => [
      paintedText(state),
      visible(context).slice(0, 60),
      // A line that is broken would be two to move back over.
      visible(description ?? '').slice(0, Math.max(0, process.stdout.columns - 80)),
    ])
    const lines = rows.length === 0 ? [] : table([], rows).split('\n')
    process.stdout.write(
      `${this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : ''}${lines.map((line) => `${line}\n`).join('')}`,
    )
    this.#drawn = lines.length
  }
}
