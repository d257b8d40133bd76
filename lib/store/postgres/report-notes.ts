import { randomUUID } from 'node:crypto'
import type { OutboxEntry } from '../../contracts/hooks.js'
import type { State } from '../../domain/commit-status.js'
import type { HookIndex } from '../hook-index.js'
import type { ReportRow } from './status-rows.js'

/** What is to be noted with a report. */
export interface ReportNote {
  readonly report: ReportRow
  /** Of its `from` the database knows better. */
  readonly entry: OutboxEntry
}

export interface Notes {
  /** Of all hooks; `undefined`: nobody delivers here. */
  readonly version: string | null | undefined
  readonly notes: readonly ReportNote[]
}

/** What is known of a status that was saved. */
export interface Noted {
  /** Of all hooks, then. */
  readonly hooks_version: string | null
  readonly previous_state: State | null
}

/** What is to be noted with reports. */
export function notesFor(index: HookIndex, reports: readonly ReportRow[]): ReportNote[] {
  return reports.flatMap((report) => {
    const { name: repository, sha, context, state, at } = report
    const since = new Date(at).toISOString()
    return index
      .notes(repository, sha, context, state)
      .map((note) => ({ report, entry: { ...note, repository, delivery: randomUUID(), since, from: null } }))
  })
}

/** What is to be noted with those reports that were saved. */
export function entriesFor(
  notes: readonly ReportNote[],
  savedOf: (report: ReportRow) => Pick<Noted, 'previous_state'> | undefined,
): OutboxEntry[] {
  return notes.flatMap(({ report, entry }) => {
    const saved = savedOf(report)
    return saved ? { ...entry, from: saved.previous_state } : []
  })
}

/** The parameters by which a statement joins what it saves with what is to be noted. */
export function noteArrays(notes: readonly ReportNote[]): unknown[][] {
  return [
    notes.map(({ report }) => Buffer.from(report.repository)),
    notes.map(({ report }) => Buffer.from(report.sha, 'hex')),
    notes.map(({ report }) => Buffer.from(report.context)),
    notes.map(({ entry }) => entry.hook),
    notes.map(({ entry }) => Buffer.from(entry.subject)),
    notes.map(({ entry }) => entry.delivery),
    notes.map(({ report }) => Math.trunc(report.at)),
  ]
}
