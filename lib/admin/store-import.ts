import { AdministrationError } from '../errors.js'
import type { Clock } from '../contracts/clock.js'
import type { Grant, TokenRecord, TokenUse } from '../contracts/records.js'
import type { StoreContents, StoreCounts } from '../contracts/store-administration.js'
import type { Store } from '../contracts/store.js'
import { batches, type Task } from '../concurrency/task.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ExportCheck, InvalidExport, recordOf } from './export-check.js'
import { repositoryOf } from './export-lines.js'
import { LineTooLong } from './ndjson.js'
import { Spool } from './spool.js'

/** What was in an export. */
export interface ImportCounts extends StoreCounts {
  /** How many of its statuses were new to the store, or later than those there. */
  readonly saved: number
}

type Counts = { -readonly [Name in keyof ImportCounts]: number }

export function nothingImported(): Counts {
  return { statuses: 0, tokens: 0, grants: 0, saved: 0 }
}

type Changed = (tokens: readonly TokenRecord[], grants: readonly Grant[]) => void

/** Lines of an export that stand together and are of one repository, or of none. */
interface Run {
  readonly repository: RepositoryName | undefined
  readonly start: number
  /** Where the next one begins. */
  end: number
}

/** Where an export goes, and whether its tokens do. */
interface Destination {
  readonly store: Store
  readonly contents: StoreContents
  readonly withoutTokens: boolean
}

/**
 * Puts what an export has into a store: nothing before all of its lines have been checked, then all of a repository or
 * none, one repository after the other. Of two statuses of a context the one that was updated later stays; grants
 * replace those of the same user; tokens that are there stay as they are.
 *
 * All of a repository, though a write for each commit would take less code in the stores: a gate or a merge bot that
 * reads a repository during an import, or after one that was interrupted, finds what the export had or what was there
 * before, never a part that looks whole. config/README.md promises that.
 * @param counts what is in the store by now, for whoever must know when the work is ended early
 * @param changed hears of tokens that were new, and of grants, once they are in the store
 */
export async function* importStore(
  into: Destination,
  lines: AsyncIterable<string>,
  counts: Counts,
  changed: Changed,
  clock: Clock,
): Task<ImportCounts> {
  const spool = await Spool.open()
  try {
    const runs = yield* checked(lines, spool, clock.now())
    for (const run of runs)
      yield* run.repository
        ? intoRepository(into.contents, run.repository, spool, run, counts, changed)
        : intoStore(into, spool, run, counts, changed)
    return counts
  } finally {
    await spool.close()
  }
}

/** Checks all lines, and puts them aside; what is wrong is said as the first thing that is. */
async function* checked(lines: AsyncIterable<string>, spool: Spool, now: number): Task<Run[]> {
  const check = new ExportCheck(now)
  const runs: Run[] = []
  let done = 0
  try {
    for await (const batch of batches(lines)) {
      let end = spool.bytes
      for (const line of batch) {
        const record = check.take(line)
        const start = end
        end += Buffer.byteLength(line) + 1
        if (record) extend(runs, repositoryOf(record), start, end)
      }
      await spool.add(batch)
      done += batch.length
      yield { progress: { phase: 'checking', done } }
    }
    check.end()
  } catch (error) {
    if (!(error instanceof InvalidExport || error instanceof LineTooLong)) throw error
    throw new AdministrationError(`this cannot be imported: ${error.message}; nothing was changed`)
  }
  return runs
}

function extend(runs: Run[], repository: RepositoryName | undefined, start: number, end: number): void {
  const last = runs.at(-1)
  if (last?.end === start && last.repository?.full === repository?.full) last.end = end
  else runs.push({ repository, start, end })
}

async function* intoRepository(
  contents: StoreContents,
  repository: RepositoryName,
  spool: Spool,
  run: Run,
  counts: Counts,
  changed: Changed,
): Task<void> {
  const granted: Grant[] = []
  const merge = contents.merge(repository)
  const more = nothingImported()
  try {
    for await (const batch of batches(spool.lines(run.start, run.end))) {
      const records = batch.map(recordOf)
      const statuses = records.flatMap((record) => (record.type === 'status' ? [record.status] : []))
      const grants = records.flatMap((record) => (record.type === 'grant' ? [record.grant] : []))
      more.saved += await merge.add(statuses, grants)
      granted.push(...grants)
      more.statuses += statuses.length
      more.grants += grants.length
      yield progress(spool, run, counts, more)
    }
    await merge.commit()
    for (const name of ['statuses', 'grants', 'saved'] as const) counts[name] += more[name]
    changed([], granted)
  } finally {
    await merge.discard()
  }
}

async function* intoStore(
  { store, withoutTokens }: Destination,
  spool: Spool,
  run: Run,
  counts: Counts,
  changed: Changed,
): Task<void> {
  const known = new Map((await store.tokens.list()).map((token) => [token.id, token]))
  for await (const batch of batches(spool.lines(run.start, run.end))) {
    const records = batch.map(recordOf)
    const tokens = records.flatMap((record) => (record.type === 'token' && !withoutTokens ? [record.token] : []))
    const grants = records.flatMap((record) => (record.type === 'grant' ? [record.grant] : []))
    // Before it is done: of what fails midway some may be there.
    counts.tokens += tokens.length
    counts.grants += grants.length
    const added = tokens.filter(({ id }) => !known.has(id)).map(({ last_used_at: _, ...token }) => token)
    const changes = [
      ...added.map(async (token) => {
        await store.tokens.add(token)
        changed([token], [])
      }),
      ...grants.map(async (grant) => {
        await store.grants.set(grant)
        changed([], [grant])
      }),
    ]
    // Not before all have ended: what was changed is reported before how it ended.
    for (const change of await Promise.allSettled(changes)) if (change.status === 'rejected') throw change.reason
    await store.tokens.noteUse(laterUses(tokens, known))
    yield progress(spool, run, counts)
  }
}

function laterUses(
  tokens: readonly (TokenRecord & TokenUse)[],
  known: ReadonlyMap<string, TokenUse>,
): Map<string, string> {
  return new Map(
    tokens.flatMap(({ id, last_used_at }) =>
      last_used_at !== null && last_used_at > (known.get(id)?.last_used_at ?? '') ? [[id, last_used_at]] : [],
    ),
  )
}

function progress(
  spool: Spool,
  { end }: Run,
  ...counts: Counts[]
): { progress: { phase: string; done: number; share: number } } {
  const done = counts.reduce((sum, { statuses, tokens, grants }) => sum + statuses + tokens + grants, 0)
  return { progress: { phase: 'importing', done, share: end / spool.bytes } }
}
