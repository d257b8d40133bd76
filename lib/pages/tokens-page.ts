import type { ListedToken } from '../admin/administration.js'
import { takeWithin, pagination } from './html/pagination.js'
import { isolated } from './html/foreign-text.js'
import { html, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import { HEAD, dayText, reportLine, shortened, timeText } from './html/text.js'

/** For how long a token can be made, by the word in the form; `never` has no end. */
export const EXPIRIES = { '7d': 7, '30d': 30, '90d': 90, '365d': 365 } as const

const WHEN = [
  ['7d', 'in 7 days'],
  ['30d', 'in 30 days'],
  ['90d', 'in 90 days'],
  ['365d', 'in a year'],
  ['never', 'never'],
] as const

export interface TokensView {
  readonly base: string
  readonly tokens: readonly ListedToken[]
  /** Milliseconds since 1970. */
  readonly now: number
  /** How many of them are passed over. */
  readonly skip: number
  /** Why nothing was made, of what was sent. */
  readonly problem?: string
  /** What was sent, to be mended. */
  readonly sent?: URLSearchParams
}

/** Characters of the limits of a token that are shown. */
const MAX_LIMITS = 1_000

const MAX_NAME = 100

/** More than there is room for: only those that may be shown are made. */
const MAX_ROWS = 100

export function tokensPage({ base, tokens, now, skip, problem, sent }: TokensView): Page {
  const value = (name: string): string => sent?.get(name) ?? ''
  const option = (name: string, key: string, text: string, isDefault = false): Html => {
    const isChosen = sent ? sent.get(name) === key : isDefault
    return isChosen
      ? html`<option value="${key}" selected>${text}</option>`
      : html`<option value="${key}">${text}</option>`
  }
  const listed = tokens.slice(skip)
  return {
    title: 'Tokens',
    content: (rowBytes) => {
      const shown = takeWithin(listed.slice(0, MAX_ROWS), rowBytes, (token) => toRow(base, token, now))
      const rest = listed.length - shown.length
      const here = `${base}/settings/tokens`
      const next = `${here}?skip=${skip + shown.length}`
      return html`<h1>Your tokens</h1>
        <p>A token speaks for you: it can do what you have a right to, within its limits.</p>
        ${
          tokens.length === 0
            ? html`<p>You have none yet.</p>`
            : html`<ul class="rows">
                ${shown}
              </ul>`
        }
        ${pagination(skip > 0 && ['prev', here, 'The first ones'], rest > 0 && ['next', next, `${rest} more`])}
        <h2>Make a token</h2>
        ${problem !== undefined && html`<p class="note" role="alert">${isolated(problem)}</p>`}
        <form class="form" method="post" action="${base}/settings/tokens">
          <label
            >Name <span class="quiet">What it is for</span
            ><input name="name" value="${value('name')}" maxlength="100" required
          /></label>
          <label
            >Expires<select name="expires">
              ${WHEN.map(([key, words]) => option('expires', key, words, key === '90d'))}
            </select></label
          >
          <label
            >Repositories
            <span class="quiet">owner/repo, several with spaces between; empty: all that you have a right to</span
            ><input name="repositories" value="${value('repositories')}" maxlength="4000"
          /></label>
          <label
            >Contexts <span class="quiet">Names of checks, * for any characters, a comma between two; empty: all</span
            ><input name="contexts" value="${value('contexts')}" maxlength="4000"
          /></label>
          <label
            >What it may do<select name="access">
              ${option('access', 'write', 'read and report', true)}${option('access', 'read', 'only read')}
            </select></label
          >
          <fieldset>
            <legend>Scope</legend>
            <label class="choice"
              ><input type="checkbox" name="scope" value="repo" checked /> repo
              <span class="quiet">Without it the API refuses the token.</span></label
            >
          </fieldset>
          <p><button>Make the token</button></p>
        </form>`
    },
  }
}

function toRow(base: string, token: ListedToken, now: number): Html {
  const { id, name: given, expires_at, last_used_at } = token
  const isOver = expires_at !== null && Date.parse(expires_at) <= now
  const expiry =
    expires_at === null ? 'never expires' : html`${isOver ? 'expired' : 'expires'} ${timeText(expires_at, now)}`
  const name = given && isolated(shortened(given, MAX_NAME))
  return html`<li>
    <span class="what"
      ><strong>${name || 'without a name'}</strong> <span class="sha">${id}</span>
      <span class="more">${isolated(shortened(limitsOf(token), MAX_LIMITS))}</span></span
    >
    <span class="when"
      >${expiry} · ${last_used_at === null ? 'never used' : html`last used on ${dayText(last_used_at)}`}</span
    >
    <a class="button" href="${base}/settings/tokens/${id}/revoke">Revoke<span class="sr"> ${name || id}</span></a>
  </li>`
}

function limitsOf({ scopes, repositories, contexts, access }: ListedToken): string {
  const limits = [
    scopes.length === 0 ? 'without a scope' : `scope ${scopes.join(', ')}`,
    access === 'read' ? 'only reads' : '',
    repositories ? `only ${repositories.join(', ')}` : '',
    contexts ? `reports ${contexts.join(', ')}` : '',
  ]
  return limits.filter((words) => words !== '').join(' · ')
}

/** Shows a token, this once. */
export function madePage(base: string, token: string, service: string): Page {
  return {
    title: 'The token',
    content: html`<h1>The token</h1>
      <p class="note">It is shown this once. Keep it where your CI keeps its secrets.</p>
      <pre tabindex="0"><code class="token">${token}</code></pre>
      <p>This reports with it, in a checkout:</p>
      <pre tabindex="0"><code>${reportLine({ service, token, repository: 'OWNER/REPO', sha: HEAD })}</code></pre>
      <p><a href="${base}/settings/tokens">Your tokens</a></p>`,
  }
}

export function revokePage(base: string, { id, name }: ListedToken): Page {
  return {
    title: 'Revoke a token',
    content: html`<h1>Revoke ${name === '' ? id : isolated(shortened(name, MAX_NAME))}?</h1>
      <p>Whatever uses it is refused from then on. It cannot be brought back.</p>
      <form class="bar" method="post" action="${base}/settings/tokens/${id}/revoke">
        <button class="grave">Revoke it</button> <a class="button" href="${base}/settings/tokens">Keep it</a>
      </form>`,
  }
}
