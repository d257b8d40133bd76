import type { CommitStatus } from '../../../lib/domain/commit-status.js'
import { catalogue } from '../../../lib/errors.js'
import { parseObjectId } from '../../../lib/domain/object-id.js'
import type { Requirement, Verdict } from '../../../lib/domain/verdict/verdict.js'
import { patternMatcher } from '../../../lib/domain/verdict/pattern.js'
import { RequestFailed, shown } from '../clients/service-client.js'
import { askList, askVerdict, type AskedCommit } from '../clients/verdict-client.js'
import type { Io } from '../terminal/io.js'
import { visible } from '../terminal/visible.js'
import { pushedId, pushedRef } from './arguments.js'
import { git, GateError } from './git.js'
import { readConfiguration, ruleFor, serviceOf, type MergedRule, type GateConfiguration } from './rules.js'

/** Whoever pushes waits no longer. */
const MILLISECONDS = 4_500

/** Questions at a time. */
const AT_ONCE = 8

/** The most statuses of a commit that are shown. */
const MAX_LINES = 20

/** A ref that a push creates, moves or deletes. */
export interface RefChange {
  readonly ref: string
  readonly old: string
  readonly new: string
}

export interface Judgement {
  readonly isRefused: boolean
  /** Why, in lines for whoever pushes. */
  readonly lines: readonly string[]
}

/** The lines that git gives a `pre-receive` hook. */
export function parseChanges(input: string): RefChange[] {
  return input
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [old = '', id = '', ...ref] = line.split(' ')
      return { old, new: id, ref: ref.join(' ') }
    })
}

/**
 * Judges a push, or one ref of it. Never rejects: what cannot be determined is refused, and said.
 * @param settingsFile of the service; absent: that of the environment or of the machine
 */
export async function judgePush(io: Io, changes: readonly RefChange[], settingsFile?: string): Promise<Judgement> {
  let timer: NodeJS.Timeout | undefined
  // No signal ends a disk that hangs, or a file that is a pipe.
  const late = new Promise<Judgement>((resolve) => {
    timer = setTimeout(() => {
      resolve(refusal('the push is refused: it could not be judged in time'))
    }, MILLISECONDS + 250)
  })
  try {
    return await Promise.race([judgeAll(io, changes, settingsFile), late])
  } finally {
    clearTimeout(timer)
  }
}

async function judgeAll(io: Io, changes: readonly RefChange[], settingsFile?: string): Promise<Judgement> {
  const signal = AbortSignal.timeout(MILLISECONDS)
  try {
    const configuration = await readConfiguration(
      io,
      changes.map(({ ref }) => ref),
    )
    let place: ReturnType<typeof serviceOf> | undefined
    const judge = async (change: RefChange): Promise<Judgement> =>
      await judgeRef(io, change, configuration, signal, async () => {
        place ??= serviceOf(io, configuration, settingsFile)
        return await place
      })
    const judged: Judgement[] = []
    for (let start = 0; start < changes.length; start += AT_ONCE) {
      const some = changes.slice(start, start + AT_ONCE)
      judged.push(...(await Promise.all(some.map(judge))))
    }
    return { isRefused: judged.some(({ isRefused }) => isRefused), lines: judged.flatMap(({ lines }) => lines) }
  } catch (error) {
    return refusal(`the push is refused: ${wordsOf(error)}`)
  }
}

async function judgeRef(
  io: Io,
  change: RefChange,
  configuration: GateConfiguration,
  signal: AbortSignal,
  place: () => ReturnType<typeof serviceOf>,
): Promise<Judgement> {
  const passes = { isRefused: false, lines: [] }
  try {
    // Deleting is git's to forbid: receive.denyDeletes.
    if (isNone(change.new)) return passes
    const rule = ruleFor(io, change.ref, configuration)
    if (!rule || (rule.allowCreate && isNone(change.old))) return passes
    if (!parseObjectId(change.new)) throw new GateError(`${JSON.stringify(change.new)} is no full id`)
    // A tag counts as the commit that it names; in quarantine only git sees it.
    const sha = await git(io, 'rev-parse', '--verify', '--quiet', `${change.new}^{commit}`).catch(() => {
      throw new GateError(`${change.new.slice(0, 7)} names no commit`)
    })
    const commit = { ...(await place()), sha }
    return await judgeCommit(change.ref, commit, rule, signal)
  } catch (error) {
    return refusal(`${visible(change.ref)} is refused: ${wordsOf(error)}`)
  }
}

async function judgeCommit(
  ref: string,
  commit: AskedCommit,
  rule: MergedRule,
  signal: AbortSignal,
): Promise<Judgement> {
  const { require, by, stale } = rule
  const needs = `${visible(ref)} needs ${describeRule(rule)}`
  let verdict: Verdict
  try {
    verdict = await askVerdict(commit, { require, by, ...(stale !== undefined && { stale }) }, signal)
  } catch (error) {
    const reason = error instanceof RequestFailed ? error.reason : undefined
    if (reason === catalogue.repository_not_found.text) throw new GateError(`${wordsOf(error)}: ${HINT}`)
    if (reason !== catalogue.commit_not_found.text) throw error
    return refusal(
      needs,
      `  ${commit.sha.slice(0, 7)} was never pushed here, so no check has seen it:`,
      '    git push origin HEAD:refs/heads/wip/fix, wait for the checks, push again',
    )
  }
  if (verdict.verdict === 'success') return { isRefused: false, lines: [] }
  // What there is of it explains; it decides nothing.
  const list = await askList(commit, undefined, signal).catch(() => undefined)
  const rows = rowsOf(verdict, list?.list.statuses ?? [])
  return refusal(
    needs,
    ...alignedRows(rows.slice(0, MAX_LINES)),
    ...(rows.length > MAX_LINES ? ['  …'] : []),
    ...(verdict.reasons ?? []).slice(0, MAX_LINES).map((reason) => `  ${shown(reason)}`),
  )
}

const HINT =
  'if that is another one, set commit-status.repositories to the folder of all repositories, else give the user of ' +
  'the token the right to read it'

/** What a rule asks for, in words. */
export function describeRule({ require, by, stale, allowCreate }: MergedRule): string {
  return [
    require.length === 0 ? 'every check, and one at least' : require.map(visible).join(', '),
    ...(by.length > 0 ? [`by ${by.map(visible).join(' or ')}`] : []),
    ...(stale === undefined ? [] : [`pending for ${stale} at most`]),
    ...(allowCreate ? ['unless it is new'] : []),
  ].join(', ')
}

type Row = readonly [context: string, state: string, ...more: string[]]

/** What stands in the way, by what is required: the failed ones, the pending ones, and what is not there. */
function rowsOf({ required }: Verdict, statuses: readonly CommitStatus[]): Row[] {
  const wanted = required.length > 0 ? required : [{ require: '*', state: 'failure' as const }]
  const rows = wanted.filter(({ state }) => state !== 'success').flatMap((each) => rowsFor(each, statuses))
  return [...new Map(rows.map((row) => [row[0], row])).values()]
}

function rowsFor(
  { require, state }: Requirement | { require: string; state: 'failure' },
  statuses: readonly CommitStatus[],
): Row[] {
  const there = statuses.filter(({ context }) => patternMatcher(require)(context))
  if (there.length === 0) return [[shown(require), 'no report yet']]
  const rows = there.filter((status) => status.state !== 'success').map(rowOf)
  return rows.length > 0 ? rows : [[shown(require), state ?? 'no report yet']]
}

function rowOf({ context, state, description, target_url }: CommitStatus): Row {
  return [shown(context), shown(state), ...[description, target_url].flatMap((text) => (text ? [shown(text)] : []))]
}

function alignedRows(rows: readonly Row[]): string[] {
  const width = (column: 0 | 1): number =>
    Math.max(0, ...rows.map((row) => (row.length > 2 || column === 0 ? row[column].length : 0)))
  const [contexts, states] = [Math.min(width(0), 40), width(1)]
  return rows.map(([context, state, ...more]) =>
    ['', context.padEnd(contexts), more.length > 0 ? state.padEnd(states) : state, ...more].join('  ').trimEnd(),
  )
}

function refusal(...lines: string[]): Judgement {
  return { isRefused: true, lines: lines.map((line, index) => (index === 0 ? `commit-status: ${line}` : line)) }
}

function isNone(id: string): boolean {
  return /^0+$/.test(id)
}

function wordsOf(error: unknown): string {
  return shown(error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ')
}

/**
 * What would happen to a push of a commit to a ref, and why.
 * @param name of the ref, short or full
 * @param revision as git has them
 * @param settingsFile as for `judgePush`
 * @throws ArgumentError when one of them is not to be resolved
 */
export async function explainPush(io: Io, name: string, revision: string, settingsFile?: string): Promise<Judgement> {
  const [ref, id] = [await pushedRef(io, name), await pushedId(io, revision)]
  const judged = await judgePush(io, [{ ref, old: 'an older commit', new: id }], settingsFile)
  if (judged.isRefused) return judged
  const configuration = await readConfiguration(io, [ref])
  const rule = ruleFor(io, ref, configuration)
  if (!rule) {
    const why = 'no rule matches it (a section without a variable in it is none to git)'
    return { isRefused: false, lines: [`${visible(ref)} is not protected: ${why}`] }
  }
  const { repository, url } = await serviceOf(io, configuration, settingsFile)
  return {
    isRefused: false,
    lines: [
      `${visible(ref)} may be pushed to ${id.slice(0, 7)}`,
      `  rules       ${rule.patterns.map(visible).join(', ')}`,
      `  needs       ${describeRule(rule)}`,
      `  repository  ${repository}, at ${url.origin}`,
      '  verdict     success',
    ],
  }
}
