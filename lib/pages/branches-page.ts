import { commitState, type CommitState } from '../domain/commit-status.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { MAX_BRANCHES, type Branch } from '../git/ref-lists.js'
import { repositoryPath } from '../http/page-paths.js'
import { isolated } from './html/foreign-text.js'
import { html, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import { takeWithin } from './html/pagination.js'
import { failedText, shortened, stateSign } from './html/text.js'

export interface BranchList {
  readonly base: string
  readonly name: RepositoryName
  /** In the order of their names, the first of them. */
  readonly branches: readonly Branch[]
  /** Of their latest commits, by id. */
  readonly states: Readonly<Record<string, CommitState>>
}

/** Characters of the name of a branch that are shown. */
const MAX_SHOWN = 100

/** The branches of a repository, with the states of their latest commits. */
export function branchesPage({ base, name, branches, states }: BranchList): Page {
  const here = base + repositoryPath(name)
  return {
    title: `${name.full} branches`,
    trail: [
      [name.full, here],
      ['Branches', `${here}/branches`],
    ],
    content: (rowBytes) => {
      const shown = takeWithin(branches, rowBytes, (branch) => toRow(here, branch, states[branch.sha]))
      const isCut = shown.length < branches.length || branches.length === MAX_BRANCHES
      return html`<h1>Branches</h1>
        ${
          branches.length > 0
            ? html`<ul class="rows log">
                ${shown}
              </ul>`
            : html`<p>There is no branch yet.</p>`
        }
        ${
          isCut &&
          html`<p class="quiet">
            These are the first ${shown.length}, by name. Any other can be typed in on the
            <a href="${here}">page of the repository</a>.
          </p>`
        }`
    },
  }
}

function toRow(here: string, { name, sha }: Branch, known: CommitState = commitState([])): Html {
  return html`<li>
    ${stateSign(known.state)}
    <a href="${here}?ref=${encodeURIComponent(name)}">${isolated(shortened(name, MAX_SHOWN))}</a>
    <small><a href="${here}/commits/${sha}">${sha.slice(0, 10)}</a></small>
    ${failedText(known)}
  </li>`
}
