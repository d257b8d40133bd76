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
  return html`<span class="state ${state ?? 'none'}"><span aria-hidden="true">${sign}</span> ${word}</span>`
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

/** A point in time, the same for every reader: a page that has not changed is answered with 304. */
export function timeText(iso: string): Html | string {
  const time = new Date(iso)
  // A commit may claim any time, and one that is none.
  if (Number.isNaN(time.getTime())) return ''
  const text = time.toISOString()
  return html`<time>${text.slice(0, 10)} ${text.slice(11, 16)}</time> UTC`
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
