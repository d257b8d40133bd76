import { BY_URGENCY, byUrgency } from '../domain/commit-status.js'
import type { LoggedCommit } from '../git/commit-log.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { repositoryPath } from '../http/page-paths.js'
import { takeWithin, pagination } from './html/pagination.js'
import { isolated, visible } from './html/foreign-text.js'
import { html, type Content, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import { durationText, lastingText, reportLine, shortened, stateSign, stateTitle, timeText } from './html/text.js'
import type { ShownList, ShownStatus } from './status-summary.js'

export interface CommitView extends ShownList {
  readonly base: string
  readonly name: RepositoryName
  readonly sha: string
  /** Absent when git cannot read it at the moment. */
  readonly commit: LoggedCommit | undefined
  /** The next ones on the default branch. */
  readonly children: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
  /** Where the repository browser shows the commit, if there is one. */
  readonly address: string | undefined
  /** How many statuses are passed over. */
  readonly skip: number
  /** Whether the page reloads itself while something is pending. */
  readonly isReloading: boolean
  /** What absolute links to pages begin with, before the base. */
  readonly origin: string
  /** What the address of the API begins with. */
  readonly service: string
}

export function commitPage(view: CommitView): Page {
  const { base, name, sha, commit, list, skip, address } = view
  const repository = base + repositoryPath(name)
  const here = `${repository}/commits/${sha}`
  const { subject = '', parents = [] } = commit ?? {}
  const id = `Commit ${sha.slice(0, 10)}`
  const statuses = byUrgency(list.statuses).slice(skip)
  return {
    title: `${stateTitle(list.state)}: ${shortened(subject, MAX_TITLE) || id}`,
    trail: [
      [name.full, repository],
      [sha.slice(0, 10), here],
    ],
    content: (rowBytes) => {
      const body = skip === 0 ? messageBody(commit?.body ?? [], rowBytes - MAX_ROW_BYTES) : html``
      const bytes = rowBytes - Buffer.byteLength(body.toString())
      const shown = takeWithin(statuses, bytes, (status) => shortRow(status, view.now))
      const rest = statuses.length - shown.length
      const next = `${here}?skip=${skip + shown.length}`
      return html`<h1>${subject ? isolated(subject) : id}</h1>
        <p class="quiet facts">
          ${commit && html`<span>${isolated(commit.author)} · ${timeText(commit.time, view.now)}</span>`}
          ${commitLinks(parents, parents.length === 1 ? 'Parent' : 'Parents')} ${commitLinks(view.children, 'Next')}
          ${address !== undefined && html`<a href="${address}">In the repository browser</a>`}
        </p>
        <p><code class="id">${sha}</code></p>
        ${body}
        <div class="top">${stateSign(list.state)} <span>${counted(view)}</span>${reloading(view, here)}</div>
        ${statusRows(view, shown, statuses)}
        ${pagination(skip > 0 && ['prev', here, 'The first ones'], rest > 0 && ['next', next, `${rest} more`])}`
    },
  }
}

/** Links of few bytes, read from the address of the page. */
function commitLinks(commits: readonly string[], label: string): Content {
  if (commits.length === 0) return undefined
  const links = commits
    .slice(0, MAX_LINKS)
    .map((commit) => html` <a class="sha" href="${commit}">${commit.slice(0, 10)}</a>`)
  return html`<span>${label}${links}${commits.length > MAX_LINKS && ' …'}</span>`
}

/** What the message says behind its subject: folded where it is long, since the statuses are what people come for. */
function messageBody(lines: readonly string[], bytes: number): Html {
  const short = lines.map((line) => visible(shortened(line, MAX_BODY_LINE)))
  const { length: count } = takeWithin(short, Math.min(bytes, MAX_BODY_BYTES), (line) => html`${line}`)
  if (count === 0) return html``
  const shown = [...short.slice(0, count), ...(count < lines.length ? ['…'] : [])].join('\n')
  const text = html`<pre class="message" dir="auto" tabindex="0">${shown}</pre>`
  if (lines.length <= FOLDED_LINES) return text
  return html`<details>
    <summary>Message</summary>
    ${text}
  </details>`
}

/** @param statuses those that the rows are of, and more */
function statusRows(view: CommitView, rows: readonly Html[], statuses: readonly ShownStatus[]): Html {
  const { name, sha, service, counts, hidden } = view
  if (Object.values(counts).every((count) => count === 0)) return nothingYet(view)
  const api = `${service}/api/v1/repos/${name.escaped}/commits/${sha}/statuses`
  const firstGreen = statuses.findIndex(({ state }) => state === 'success')
  const others = counts.success > MAX_GREEN && firstGreen !== -1 ? firstGreen : rows.length
  return html`${rowList(rows.slice(0, others))} ${foldedRows(rows.slice(others), view)}
  ${hidden > 0 && html`<p>${hidden} others are too many to be shown here: <a href="${api}">the API lists all</a>.</p>`}`
}

function rowList(rows: readonly Html[]): Content {
  return (
    rows.length > 0 &&
    html`<ul class="rows">
      ${rows}
    </ul>`
  )
}

/** What is green, where there is much of it: open where somebody has asked for more of the rows. */
function foldedRows(rows: readonly Html[], { counts, skip }: CommitView): Content {
  if (rows.length === 0) return undefined
  const inside = html`<summary>${counts.success} success</summary>
    ${rowList(rows)}`
  return skip > 0 ? html`<details open>${inside}</details>` : html`<details>${inside}</details>`
}

/** Of the rows in a page of others. */
const MAX_FRAGMENT_BYTES = 14_000

/** The statuses of a commit as a piece of other pages, cgit's above all. */
export function commitFragment({ base, name, sha, list, hidden, origin }: CommitView): Html {
  const here = `${origin}${base}${repositoryPath(name)}/commits/${sha}`
  const ordered = byUrgency(list.statuses)
  const rows = takeWithin(ordered, MAX_FRAGMENT_BYTES, ({ state, context, description, target_url }) => {
    const label = target_url === null ? isolated(context) : link(target_url, isolated(context))
    const more = description !== null && html` <span>${isolated(description)}</span>`
    return html`<li>${stateSign(state)} ${label}${more}</li>`
  })
  const rest = ordered.length - rows.length + hidden
  const more = rows.length > 0 ? `${here}?skip=${rows.length}` : here
  return html`<div class="commit-statuses">
    <a href="${here}">Statuses</a>: ${stateSign(list.state)}
    ${
      rows.length > 0 &&
      html`<ul>
        ${rows}
      </ul>`
    }
    ${rest > 0 && html`<p><a href="${more}">${rest} more</a></p>`}
  </div> `
}

/** Past this the texts of a row are cut; it may have one more address. */
const MAX_ROW_BYTES = 12_500
const SHORT_TEXT = 60

/** Characters of a subject in the title of a window. */
const MAX_TITLE = 100

/** Parents, and next commits. */
const MAX_LINKS = 4

/** Of the message, and characters of a line of it. */
const MAX_BODY_BYTES = 6_000
const MAX_BODY_LINE = 250

/** More that are green are folded. */
const MAX_GREEN = 10

/** More lines than this are folded. */
const FOLDED_LINES = 6

/** As much of it as leaves room for the rest of a page. */
function shortRow(status: ShownStatus, now: number): Html {
  const row = toRow(status, now)
  if (Buffer.byteLength(row.toString()) <= MAX_ROW_BYTES) return row
  const { context, description } = status
  /* c8 ignore next -- without a description no row is too long */
  const short = { context: shortened(context, SHORT_TEXT), description: shortened(description ?? '', SHORT_TEXT) }
  return toRow({ ...status, ...short }, now)
}

function toRow(status: ShownStatus, now: number): Html {
  const { state, context, description, target_url } = status
  return html`<li>
    ${stateSign(state)}
    <span class="what"
      ><strong>${isolated(context)}</strong> ${target_url !== null && html`· ${link(target_url, 'Details', context)}`}
      ${description !== null && description !== '' && html`<span class="more">${isolated(description)}</span>`}</span
    >
    <span class="when">${whenOf(status, now)}</span>
  </li>`
}

function whenOf({ state, updated_at, reporter, pending_since }: ShownStatus, now: number): Content {
  const by = reporter && html`${isolated(reporter.user)} · `
  const reported = timeText(updated_at, now)
  if (pending_since === undefined) return html`${by}${reported}`
  // What a store of the host holds may be anything.
  const lasting = state === 'pending' && lastingText(pending_since, now)
  if (lasting) return html`${by}pending for ${lasting}`
  const took = state === 'pending' ? NaN : Date.parse(updated_at) - Date.parse(pending_since)
  return html`${by}${reported}${took >= 0 && html` · took ${durationText(took)}`}`
}

/**
 * A link to what a report names. Reports are checked, and looked at once more: what a store of the host holds, and what
 * was stored by another version, may be anything.
 */
function link(address: string, text: Content, of?: string): Content {
  const isSafe = /^https?:\/\/[^\s]/i.test(address) && URL.canParse(address)
  if (!isSafe) return text
  return html`<a href="${address}" rel="noopener noreferrer nofollow"
    >${text}${of !== undefined && html`<span class="sr"> of ${isolated(shortened(of, SHORT_TEXT))}</span>`}</a
  >`
}

function counted({ counts }: CommitView): string {
  const states = BY_URGENCY.filter((state) => counts[state] > 0)
  return states.map((state) => `${counts[state]} ${state}`).join(', ')
}

function reloading({ counts, isReloading }: CommitView, here: string): Content {
  // Also of a commit that has failed already: the rest is still to come.
  if (counts.pending === 0) return undefined
  if (!isReloading) return html`<a href="${here}">Reload by itself</a>`
  return html`<span class="quiet">Reloads by itself.</span> <a href="${here}?reload=off">Stop reloading</a>`
}

function nothingYet({ name, sha, service }: CommitView): Html {
  return html`<p>No check has reported on this commit. This line would, with a token of somebody who may:</p>
    <pre tabindex="0"><code>${reportLine({ service, token: '$TOKEN', repository: name.escaped, sha })}</code></pre>`
}
