import { MAX_FAILED, type CommitState, type State } from '../../domain/commit-status.js'
import { isolated } from './foreign-text.js'
import { html, type Content, type Html } from './html.js'

/** Of every state the sign and the word, since not everybody sees its colour. */
const SIGNS = {
  success: { sign: '✓', word: 'success' },
  pending: { sign: '●', word: 'pending' },
  failure: { sign: '✗', word: 'failure' },
  error: { sign: '!', word: 'error' },
  none: { sign: '–', word: 'no status' },
} as const satisfies Record<State | 'none', { sign: string; word: string }>

/** A state as people see it; `null`: there is no status. */
export function stateSign(state: State | null): Html {
  const { sign, word } = SIGNS[state ?? 'none']
  return pill(state ?? 'none', sign, word)
}

/** A word with a sign before it, in the colours of a state. */
export function pill(look: State | 'none', sign: string, word: string): Html {
  return html`<span class="state ${look}"><span aria-hidden="true">${sign}</span> ${word}</span>`
}

/** What stands in the title of a window, where there is no colour. */
export function stateTitle(state: State | null): string {
  const { sign, word } = SIGNS[state ?? 'none']
  return `${sign} ${word}`
}

/** How many contexts that failed a row names, and how much of each. */
const FAILED_CONTEXTS = 3
const FAILED_CHARACTERS = 40

/** What failed of a commit whose failed contexts were asked for; nothing where none has. */
export function failedText({ failed = [], statuses }: CommitState): Content {
  if (failed.length === 0) return undefined
  const count = failed.length < MAX_FAILED ? failed.length : `${MAX_FAILED} or more`
  const names = failed
    .slice(0, FAILED_CONTEXTS)
    .map((context, index) => html`${index > 0 && ', '}${isolated(shortened(context, FAILED_CHARACTERS))}`)
  const more = failed.length > FAILED_CONTEXTS && ', …'
  return html`<span class="failed">${count} of ${statuses} failed: ${names}${more}</span>`
}

const [MINUTE, HOUR, DAY, WEEK, MONTH, YEAR] = [60, 3_600, 86_400, 604_800, 2_629_746, 31_556_952]

/** From how many seconds on a time is told in each, as git does. */
const UNITS = [
  ['minute', MINUTE, 0],
  ['hour', HOUR, 90 * MINUTE],
  ['day', DAY, 36 * HOUR],
  ['week', WEEK, 14 * DAY],
  ['month', MONTH, 10 * WEEK],
  ['year', YEAR, 24 * MONTH],
] as const

const relative = new Intl.RelativeTimeFormat('en')

/** A point in time as people say it, with the exact one beside, the same for every reader. @param now milliseconds */
export function timeText(iso: string, now: number): Html | string {
  return timeElement(iso, (time) => relativeText(time - now))
}

/** For how long something has lasted that goes on; nothing where it would begin later. */
export function lastingText(since: string, now: number): Html | string {
  if (Date.parse(since) - now >= 60_000) return ''
  return timeElement(since, (time) => {
    const text = relativeText(Math.min(0, time - now))
    return text === JUST_NOW ? 'less than a minute' : text.replace(' ago', '')
  })
}

function timeElement(iso: string, toText: (milliseconds: number) => string): Html | string {
  const time = new Date(iso)
  // A commit may claim any time, and one that is none.
  if (Number.isNaN(time.getTime())) return ''
  const minute = time.toISOString().replace(/:\d\d\.\d+Z$/, '')
  return html`<time datetime="${minute}Z" title="${minute.replace('T', ' ')} UTC">${toText(time.getTime())}</time>`
}

const JUST_NOW = 'just now'

/** @param milliseconds less than 0: that long ago */
function relativeText(milliseconds: number): string {
  let text = JUST_NOW
  // Pages are made with the beginning of the minute: what has happened since then is not to come.
  if (milliseconds > 0 && milliseconds < 60_000) return text
  for (const [unit, seconds, from] of UNITS) {
    const passed = Math.abs(milliseconds) / 1000
    const count = Math.round(passed / seconds)
    if (count > 0 && passed >= from) text = relative.format(Math.sign(milliseconds) * count, unit)
  }
  return text
}

/** The day of a point in time that is known to the hour alone. */
export function dayText(iso: string): Html {
  return html`<time>${iso.slice(0, 10)}</time>`
}

/** A length of time in its two largest units. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}

/** The line of a shell that reports on a commit. */
export function reportLine(report: {
  /** What the address of the API begins with. */
  readonly service: string
  readonly token: string
  /** `owner/repo` */
  readonly repository: string
  readonly sha: string
}): string {
  const { service, token, repository, sha } = report
  const body = '{"state": "success", "context": "build"}'
  const address = `${service}/api/v1/repos/${repository}/statuses/${sha}`
  return `curl -H "Authorization: Bearer ${token}" -d '${body}' ${address}`
}

/** The commit that is checked out, for a shell. */
export const HEAD = '$(git rev-parse HEAD)'

/** A text of others with so many characters at most, and a sign that there are more. */
export function shortened(text: string, characters: number): string {
  const all = Array.from(text)
  return all.length > characters ? `${all.slice(0, characters).join('')}…` : text
}
