import { isDeepStrictEqual } from 'node:util'
import type { CommitStatus } from '../../lib/domain/commit-status.js'
import type { History, Span, Write } from './history.js'

/** What is wrong with a history, each finding in words. */
export interface Verdict {
  /** Reports that were acknowledged or seen in a list, and that a list of later does not show. */
  readonly lost: readonly string[]
  /** What can be in no answer, whatever happened. */
  readonly wrong: readonly string[]
}

/**
 * Judges a history against the simplest model: for each commit and context a register, of which every write and every
 * read takes place at one moment between its question and its answer.
 *
 * No two writes have the same value, which makes that easy (Gibbons and Korach, Testing Shared Memories, 1997): from
 * the first end of a write or read of a value to the last begin of one, that value must have been there all the time,
 * where this is a span; where it is the other way round, at some moment between the two.
 */
export function judge(history: History): Verdict {
  const lost: string[] = []
  const wrong: string[] = []
  const registers = new Map<string, Register>()
  const register = (commit: string, context: string): Register => {
    const name = `${commit} ${context}`
    const found = registers.get(name) ?? new Register(name)
    registers.set(name, found)
    return found
  }
  const contexts = new Map<string, Set<string>>()
  for (const write of history.writes) {
    const { commit, report, answer } = write
    contexts.set(commit, (contexts.get(commit) ?? new Set()).add(report.context))
    register(commit, report.context).writes.set(report.description, write)
    if (write.outcome === 'acknowledged') {
      if (isStatusOf(commit, answer) && answer.description === report.description)
        register(commit, report.context).sightings.push({ ...write, status: answer })
      else wrong.push(`${commit} ${report.context}: the answer to ${report.description} is ${JSON.stringify(answer)}`)
    }
  }
  for (const { commit, answer, from, to } of history.reads) {
    const list = listOf(commit, answer)
    if (typeof list === 'string') {
      wrong.push(`${commit}: ${list}: ${JSON.stringify(answer)}`)
      continue
    }
    const shown = new Map(list.map((status) => [status.context, status]))
    for (const context of new Set([...(contexts.get(commit) ?? []), ...shown.keys()]))
      register(commit, context).sightings.push({ from, to, status: shown.get(context) })
  }
  for (const each of registers.values()) each.judge(lost, wrong)
  return { lost, wrong }
}

/** A status, or that there was none, in an answer. */
interface Sighting extends Span {
  readonly status: CommitStatus | undefined
}

/** All that was done with one value of a register. */
interface Uses {
  readonly value: string
  readonly firstEnd: number
  readonly lastBegin: number
}

class Register {
  readonly #name: string
  readonly writes = new Map<string, Write>()
  readonly sightings: Sighting[] = []

  constructor(name: string) {
    this.#name = name
  }

  judge(lost: string[], wrong: string[]): void {
    const possible = this.sightings.filter((sighting) => {
      const reason = this.#impossible(sighting)
      if (reason !== undefined) wrong.push(`${this.#name}: ${reason}`)
      return reason === undefined
    })
    wrong.push(...wrongFields(possible).map((words) => `${this.#name}: ${words}`))
    lost.push(...disorder(this.#uses(possible)).map((words) => `${this.#name}: ${words}`))
  }

  /** Why a status can be in no answer. */
  #impossible({ status, to }: Sighting): string | undefined {
    if (!status) return undefined
    const write = this.writes.get(String(status.description))
    const shown = JSON.stringify(status)
    if (!write) return `nobody reported ${shown}`
    if (write.outcome === 'refused') return `the report was refused: ${shown}`
    if (to < write.from) return `it was reported later: ${shown}`
    const { state, target_url, context } = status
    return isDeepStrictEqual({ state, target_url, context, description: status.description }, write.report)
      ? undefined
      : `mixed of several reports: ${shown}`
  }

  /** Of each value, that of a register that nobody has written to included. */
  #uses(sightings: readonly Sighting[]): Uses[] {
    const uses = new Map<string | undefined, Span[]>([[undefined, [{ from: -Infinity, to: -Infinity }]]])
    for (const [value, write] of this.writes) if (write.outcome === 'acknowledged') uses.set(value, [write])
    for (const { status, from, to } of sightings) {
      const value = status?.description ?? undefined
      const write = value === undefined ? undefined : this.writes.get(value)
      const spans = uses.get(value) ?? (write ? [write] : [])
      uses.set(value, spans)
      spans.push({ from, to })
    }
    return Array.from(uses, ([value, spans]) => ({
      value: value?.slice(0, 20) ?? 'nothing',
      firstEnd: spans.reduce((least, { to }) => Math.min(least, to), Infinity),
      lastBegin: spans.reduce((most, { from }) => Math.max(most, from), -Infinity),
    }))
  }
}

/** Values that cannot have been in a register one after the other. */
function disorder(uses: readonly Uses[]): string[] {
  const found: string[] = []
  const lasting = uses
    .filter(({ firstEnd, lastBegin }) => firstEnd < lastBegin)
    .sort((one, other) => one.firstEnd - other.firstEnd)
  /** For each of `lasting`, which of it and of those before it was there until the latest time. */
  const latest: Uses[] = []
  for (const value of lasting) {
    const before = latest.at(-1)
    if (before && value.firstEnd < before.lastBegin)
      found.push(`${value.value} was there, and then ${before.value} again`)
    latest.push(before && before.lastBegin > value.lastBegin ? before : value)
  }
  for (const value of uses) {
    if (value.firstEnd < value.lastBegin) continue
    const begun = lasting.findLastIndex(({ firstEnd }) => firstEnd < value.lastBegin)
    const around = latest[begun]
    if (around && value.firstEnd < around.lastBegin)
      found.push(`${value.value} was there, and then ${around.value} again`)
  }
  return found
}

/** What the service adds to a report: the first report decides on id and creation, and time does not go back. */
function wrongFields(sightings: readonly Sighting[]): string[] {
  const found: string[] = []
  const seen = sightings.flatMap(({ status, from, to }) => (status ? [{ status, from, to }] : []))
  const times = new Map<string | null, string>()
  const [first] = seen
  for (const { status } of seen) {
    if (status.id !== first?.status.id || status.created_at !== first.status.created_at)
      found.push(`another id or time of creation: ${JSON.stringify([first?.status, status])}`)
    const time = times.get(status.description) ?? status.updated_at
    times.set(status.description, time)
    if (time !== status.updated_at || time < status.created_at)
      found.push(`another time: ${JSON.stringify(status)} ${time}`)
  }
  const ended = seen.toSorted((one, other) => one.to - other.to)
  let [next, latest] = [0, '']
  for (const { status, from } of seen.toSorted((one, other) => one.from - other.from)) {
    for (let before = ended[next]; before && before.to < from; before = ended[++next])
      if (before.status.updated_at > latest) latest = before.status.updated_at
    if (status.updated_at < latest) found.push(`the time went back from ${latest}: ${JSON.stringify(status)}`)
  }
  return found
}

/** The statuses of the body of a list, or what is wrong with it by itself. */
function listOf(commit: string, answer: unknown): CommitStatus[] | string {
  if (!hasMembers(answer, ['state', 'statuses']) || !Array.isArray(answer['statuses'])) return 'not a list'
  const statuses = answer['statuses'].filter((status): status is CommitStatus => isStatusOf(commit, status))
  if (statuses.length < answer['statuses'].length) return 'not a list of statuses of this commit'
  const contexts = statuses.map((status) => Buffer.from(status.context))
  if (contexts.some((context, index) => index > 0 && Buffer.compare(contexts[index - 1] ?? context, context) >= 0))
    return 'a context twice, or out of order'
  return answer['state'] === combined(statuses.map(({ state }) => state)) ? statuses : 'another combined state'
}

/** The specification's four rules, in another way than lib/domain/commit-status.ts. */
function combined(states: readonly string[]): string | null {
  const rules = [/failure|error/, /pending/, /success/]
  const rule = rules.findIndex((pattern) => states.some((state) => pattern.test(state)))
  return ['failure', 'pending', 'success'][rule] ?? null
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function isStatusOf(commit: string, value: unknown): value is CommitStatus {
  if (!hasMembers(value, ['id', 'sha', 'context', 'state', 'description', 'target_url', 'created_at', 'updated_at']))
    return false
  const texts = ['id', 'context', 'state', 'created_at', 'updated_at'].map((name) => value[name])
  return (
    texts.every((text) => typeof text === 'string') &&
    commit.endsWith(` ${String(value['sha'])}`) &&
    [value['created_at'], value['updated_at']].every((time) => TIME.test(String(time)))
  )
}

/** Whether it is an object with these members and no others. */
function hasMembers(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && isDeepStrictEqual(Object.keys(value).sort(), [...names].sort())
}
