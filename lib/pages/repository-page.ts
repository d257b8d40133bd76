import { commitState, type CommitState } from '../domain/commit-status.js'
import type { LoggedCommit } from '../git/commit-log.js'
import type { Branch } from '../git/ref-lists.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { isolated, visible } from './html/foreign-text.js'
import { html, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import { takeWithin, pagination } from './html/pagination.js'
import type { ShellHints } from './shell-hints.js'
import { shellWord } from '../admin/shell-word.js'
import { repositoryPath } from '../http/page-paths.js'
import { failedText, shortened, stateSign, timeText } from './html/text.js'

export interface RepositoryLog extends ShellHints {
  readonly base: string
  readonly name: RepositoryName
  /** Where the git server has it. */
  readonly path?: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** As it was asked for, else the default branch. */
  readonly ref: string
  /** Whether the repository has no commit at all. */
  readonly isEmpty: boolean
  readonly branches: readonly Branch[]
  readonly commits: readonly LoggedCommit[]
  readonly states: Readonly<Record<string, CommitState>>
  /** How many commits are passed over. */
  readonly skip: number
  readonly hasMore: boolean
  /** Whether whoever looks may see its webhooks. */
  readonly hasWebhooks: boolean
  /** Where the service is. */
  readonly origin: string
}

/** On a page at the most. */
export const MAX_COMMITS = 40

/** Characters of a ref that is proposed, or repeated on the page. */
const MAX_SHORT = 100

/** Of the branches that are proposed: the rows need the room. */
const MAX_PROPOSAL_BYTES = 1_000

export function repositoryPage(log: RepositoryLog): Page {
  const { base, name, ref, commits, skip } = log
  const here = base + repositoryPath(name)
  const passing = (skip: number): string =>
    `${here}?${new URLSearchParams({ ref, ...(skip > 0 && { skip: String(skip) }) }).toString()}`
  return {
    title: `${name.full} ${shortened(ref, MAX_SHORT)}`,
    trail: [[name.full, here]],
    content: (rowBytes) => {
      const shown = takeWithin(commits, rowBytes, (commit) => toRow(log, commit))
      const isCut = shown.length < commits.length || log.hasMore
      return html`<h1>${name.full}</h1>
        ${!log.isEmpty && refForm(here, log)}
        ${
          commits.length > 0
            ? html`<ul class="rows log">
                ${shown}
              </ul>`
            : nothing(log)
        }
        ${pagination(
          skip > 0 && ['prev', passing(Math.max(0, skip - MAX_COMMITS)), 'Newer commits'],
          isCut && ['next', passing(skip + shown.length), 'Older commits'],
        )}
        ${commits.length > 0 && skip === 0 && ref.length <= MAX_SHORT && badge(log)}`
    },
  }
}

function refForm(here: string, { ref, branches, hasWebhooks }: RepositoryLog): Html {
  return html`<form class="bar" method="get" action="${here}">
    <label>Branch or tag <input name="ref" value="${ref}" list="branches" maxlength="1024" /></label
    ><button>Show</button>
    <datalist id="branches">${proposals(branches)}</datalist>
    <a href="${here}/branches">All branches</a> ${hasWebhooks && html`<a href="${here}/webhooks">Webhooks</a>`}
  </form>`
}

function nothing({ isEmpty, name, path = `${name.full}.git`, ref, folder }: RepositoryLog): Html {
  if (!isEmpty) return html`<p>There are no more commits.</p>`
  const branch = shellWord(`refs/heads/${ref === 'HEAD' ? 'main' : ref}`)
  return html`<p>
      There is no commit yet. This line pushes one, on the machine of the service, in a checkout of yours:
    </p>
    <pre tabindex="0"><code>git push ${folder}/${path} HEAD:${visible(branch)}</code></pre>`
}

function proposals(branches: readonly Branch[]): readonly Html[] {
  const short = branches.filter(({ name }) => name.length <= MAX_SHORT)
  return takeWithin(short, MAX_PROPOSAL_BYTES, ({ name }) => html`<option value="${name}"></option>`)
}

/** Of few bytes, so that forty fit on a page: its link is read from the address of the repository, without a slash. */
function toRow({ name, states, now }: RepositoryLog, commit: LoggedCommit): Html {
  const { sha, author, time, subject } = commit
  const { [sha]: known = commitState([]) } = states
  const id = sha.slice(0, 10)
  const [last = ''] = repositoryPath(name).split('/').slice(-1)
  return html`<li>
    ${stateSign(known.state)} <a href="${last}/commits/${sha}">${subject ? isolated(subject) : id}</a>
    <small>${isolated(author)} · ${id} · ${timeText(time, now)}</small>
    ${failedText(known)}
  </li>`
}

function badge({ base, name, ref, origin }: RepositoryLog): Html {
  const address = `${base}${repositoryPath(name)}/badge.svg?${new URLSearchParams({ ref }).toString()}`
  return html`<details>
    <summary>Badge</summary>
    <p><img src="${address}" alt="The state of ${visible(ref)}" /></p>
    <pre tabindex="0"><code>[![${name.name}](${origin}${address})](${origin}${base}${repositoryPath(name)})</code></pre>
  </details>`
}
