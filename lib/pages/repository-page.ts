import type { CommitState } from '../commit-status.js'
import type { LoggedCommit } from '../git/commit-log.js'
import type { RepositoryName } from '../repository-name.js'
import { html, type Html } from './html.js'
import type { Page } from './page.js'
import { fitting } from './fitting.js'
import { stateSign } from './state-sign.js'
import { timeText } from './time.js'

export interface RepositoryLog {
  readonly base: string
  readonly name: RepositoryName
  /** As it was asked for, else the default branch. */
  readonly ref: string
  /** Whether the repository has no commit at all. */
  readonly isEmpty: boolean
  readonly branches: readonly string[]
  readonly commits: readonly LoggedCommit[]
  readonly states: Readonly<Record<string, CommitState>>
  /** How many commits are passed over. */
  readonly skip: number
  readonly hasMore: boolean
  /** Where the service is. */
  readonly origin: string
}

export function repositoryPage(log: RepositoryLog): Page {
  const { base, name, ref, commits, skip } = log
  const here = `${base}/repos/${name.full}`
  const rows = fitting(commits.map((commit) => rowOf(here, commit, log.states[commit.sha]?.state)))
  const older = (skip: number): string => `${here}?${new URLSearchParams({ ref, skip: String(skip) }).toString()}`
  const isCut = rows.length < commits.length || log.hasMore
  return {
    title: `${name.full} ${ref}`,
    trail: [[name.full, here]],
    content: html`<h1>${name.full}</h1>
      <form class="bar" method="get" action="${here}">
        <label>Branch or tag <input name="ref" value="${ref}" list="branches" maxlength="1024" /></label
        ><button>Show</button>
        <datalist id="branches">${log.branches.map((branch) => html`<option value="${branch}"></option>`)}</datalist>
      </form>
      ${
        rows.length > 0
          ? html`<ul class="rows">
              ${rows}
            </ul>`
          : html`<p>${log.isEmpty ? 'There is no commit yet: push one.' : 'There are no more commits.'}</p>`
      }
      ${isCut && html`<p><a href="${older(skip + rows.length)}" rel="next">Older commits</a></p>`}
      ${rows.length > 0 && skip === 0 && badge(log)}`,
  }
}

function rowOf(here: string, { sha, author, time, subject }: LoggedCommit, state: CommitState['state'] = null): Html {
  return html`<li>
    ${stateSign(state)}
    <span class="what"
      ><a href="${here}/commits/${sha}">${subject || sha.slice(0, 10)}</a> <span class="more">${author}</span></span
    >
    <span class="when"><span class="sha">${sha.slice(0, 10)}</span> · ${timeText(time)}</span>
  </li>`
}

function badge({ base, name, ref, origin }: RepositoryLog): Html {
  const address = `${base}/repos/${name.full}/badge.svg?${new URLSearchParams({ ref }).toString()}`
  return html`<details>
    <summary>Badge</summary>
    <p><img src="${address}" alt="The state of ${ref}" /></p>
    <pre tabindex="0"><code>[![${name.name}](${origin}${address})](${origin}${base}/repos/${name.full})</code></pre>
  </details>`
}
