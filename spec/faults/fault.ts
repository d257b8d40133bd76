import { appendFileSync } from 'node:fs'
import t, { type Test } from 'tap'

/** What came of injecting a fault: a row of the table of `npm run faults`. */
export interface Row {
  /** How often it was injected. */
  readonly injected: number
  /** Reports, or other things that were asked for, that were answered as done. */
  readonly acknowledged: number
  /** Of these, and of what was seen of others, what was gone later. */
  readonly lost: number
  /** Answers that can be right in no case. */
  readonly wrong: number
  /** From when the fault was over to when the service did its work again; `null` where it goes on all the time. */
  readonly longestUnavailabilityMs: number | null
}

/** `npm run faults`, not `npm test`. */
export const isLong = process.env['COMMIT_STATUS_FAULTS'] === 'long'

/** Where `npm run faults` reads what is to become of its table. */
const file = process.env['COMMIT_STATUS_FAULT_ROWS']

/**
 * A test that injects a fault, and a row of the table.
 * @param times how often, in `npm test` and in `npm run faults`
 * @param skip why it cannot be injected here, if so
 */
export function fault(
  name: string,
  times: { short: number; long: number },
  inject: (t: Test, times: number) => Promise<Row>,
  skip: string | false = false,
): void {
  tell({ fault: name, ...(skip !== false && { skip }) })
  void t.test(name, { skip, timeout: isLong ? 3_600_000 : 120_000 }, async (t) => {
    tell({ fault: name, begun: true })
    const row = await inject(t, isLong ? times.long : times.short)
    tell({ fault: name, row })
    t.match(row, { lost: 0, wrong: 0 })
    t.ok(row.injected > 0 && row.acknowledged > 0, JSON.stringify(row))
    t.comment(JSON.stringify(row))
  })
}

/** The row of a test that judges by itself: each of its assertions that failed is something wrong. */
export function record(t: Test, name: string, row: Partial<Row> & Pick<Row, 'injected' | 'acknowledged'>): void {
  tell({ fault: name, row: { lost: 0, wrong: t.counts.fail, longestUnavailabilityMs: null, ...row } })
}

function tell(line: object): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}
