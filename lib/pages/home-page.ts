import type { CommitState } from '../domain/commit-status.js'
import type { LoggedCommit } from '../git/commit-log.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { repositoryPath } from '../http/page-paths.js'
import { takeWithin, pagination } from './html/pagination.js'
import { isolated } from './html/foreign-text.js'
import { html, type Content, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import type { ShellHints } from './shell-hints.js'
import { failedText, HEAD, reportLine, stateSign, timeText } from './html/text.js'

/** A repository with the latest commit of its default branch. */
export interface HomeRow {
  readonly name: RepositoryName
  readonly branch: string | undefined
  readonly commit: LoggedCommit | undefined
  /** `undefined`: it cannot be determined at the moment. */
  readonly state: CommitState | undefined
}

export interface Home extends ShellHints {
  readonly base: string
  /** Milliseconds since 1970. */
  readonly now: number
  readonly rows: readonly HomeRow[]
  /** What was searched for. */
  readonly text: string
  readonly hasMore: boolean
  /** Whether there are none before these. */
  readonly isFirst: boolean
  /** What the address of the API begins with. */
  readonly service: string
  readonly isSignedIn: boolean
  /** Whether people sign in by links here, and not where a proxy or the host has them. */
  readonly hasLinks: boolean
  /** Whether the service makes tokens, and not the host. */
  readonly hasTokens: boolean
  /** Whether the folder cannot be listed: then one has to name a repository. */
  readonly isUnlisted: boolean
}

export function homePage(home: Home): Page {
  const { base, rows, text } = home
  return {
    title: 'Repositories',
    content: (rowBytes) => {
      const shown = takeWithin(rows, rowBytes, (row) => toRow(home, row))
      const isCut = shown.length < rows.length || home.hasMore
      const after = rows[Math.max(0, shown.length - 1)]?.name.full ?? ''
      const more = `${base}/?${new URLSearchParams({ ...(text && { q: text }), after }).toString()}`
      const first = text === '' ? `${base}/` : `${base}/?${new URLSearchParams({ q: text }).toString()}`
      return html`<h1>Repositories</h1>
        ${searchForm(home)}
        ${
          rows.length > 0
            ? html`<ul class="rows">
                ${shown}
              </ul>`
            : nothingYet(home)
        }
        ${pagination(!home.isFirst && ['prev', first, 'The first ones'], isCut && ['next', more, 'More repositories'])}`
    },
  }
}

function searchForm({ base, text, isUnlisted, rows }: Home): Content {
  if (rows.length === 0 && text === '' && !isUnlisted) return undefined
  const label = isUnlisted ? 'Open a repository, owner/repo' : 'Search by name'
  return html`<form class="bar" method="get" action="${base}/" role="search">
    <label>${label}<input type="search" name="q" value="${text}" maxlength="201" /></label
    ><button>${isUnlisted ? 'Open' : 'Search'}</button>
  </form>`
}

function toRow({ base, now }: Home, { name, branch, commit, state }: HomeRow): Html {
  return html`<li>
    ${state === undefined ? html`<span class="state none">?</span>` : stateSign(state.state)}
    <span class="what"
      ><a href="${base + repositoryPath(name)}">${name.full}</a>
      <span class="more">${commit ? isolated(commit.subject) : 'no commit yet'}</span></span
    >
    <span class="when"
      >${branch !== undefined && isolated(branch)}${commit && html` · ${timeText(commit.time, now)}`}</span
    >
    ${state && failedText(state)}
  </li>`
}

function nothingYet(home: Home): Content {
  const { text, service, folder, command, isSignedIn, isUnlisted, isAtTheMachine } = home
  if (isUnlisted) return undefined
  if (text !== '') return html`<p>No repository that you may read has “${isolated(text)}” in its name.</p>`
  const hint = !isSignedIn && html`<p>Private ones are shown to those who may read them, once they have signed in.</p>`
  const link = home.hasLinks && html`, and <code>${command} sign-in alice</code> prints a link that signs alice in here`
  const where =
    isAtTheMachine &&
    html`<p>
      Bare repositories are looked for in <code>${folder}</code>; <code>${command} repo list</code> shows all of them,
      and with <code>--skipped</code> what lies there and is none.
    </p>`
  return html`<p>There is no repository yet that you may read.</p>
    ${hint}
    <h2>Make the first one</h2>
    <p>On the machine of the service, in a checkout of your own with a commit:</p>
    <pre tabindex="0"><code>git init --bare --initial-branch=main ${folder}/alice/hello.git
git push ${folder}/alice/hello.git HEAD:refs/heads/main
${home.hasTokens ? `TOKEN=$(${command} token create alice | tail -n 1)` : 'TOKEN="a token of alice, of this server"'}
${reportLine({ service, token: '$TOKEN', repository: 'alice/hello', sha: HEAD })}</code></pre>
    <p>Then <code>${command} repo public alice/hello</code> shows it to everybody${link}.</p>
    ${where}`
}
