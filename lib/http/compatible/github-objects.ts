import type { CommitContent, Signature } from '../../git/commit-content.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Call } from './api.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import { nameNumber, reportNumber } from './numbers.js'
import { segment, timeOf, toSecond } from './formats.js'

export function repositoryUrl({ base }: Pick<Call, 'base'>, { name }: VisibleRepository): string {
  return `${base}/repos/${name.full}`
}

export function statusObject(call: Call, found: VisibleRepository, status: ReportedStatus) {
  return {
    url: `${repositoryUrl(call, found)}/statuses/${status.sha}`,
    id: reportNumber(status),
    node_id: status.id,
    state: status.state,
    description: status.description,
    target_url: status.target_url,
    context: status.context,
    created_at: toSecond(status.created_at),
    updated_at: toSecond(status.updated_at),
    avatar_url: null,
    creator: status.reporter ? personObject(call, status.reporter.user) : null,
  }
}

export function personObject({ base, root }: Call, login: string) {
  const path = segment(login)
  return {
    login,
    id: nameNumber(login),
    node_id: `user:${login}`,
    avatar_url: '',
    url: `${base}/users/${path}`,
    html_url: `${root}/${path}`,
    type: 'User',
    site_admin: false,
  }
}

export function repositoryObject(call: Call, found: VisibleRepository, branch: string) {
  const { name, repository, access } = found
  const url = repositoryUrl(call, found)
  return {
    id: nameNumber(name.full),
    node_id: `repository:${name.full}`,
    name: name.name,
    full_name: name.full,
    owner: personObject(call, name.owner),
    private: !repository.public,
    html_url: `${call.root}/${name.full}`,
    description: null,
    fork: false,
    url,
    statuses_url: `${url}/statuses/{sha}`,
    commits_url: `${url}/commits{/sha}`,
    default_branch: branch,
    permissions: { admin: false, push: access === 'write', pull: true },
  }
}

/** A commit as GitHub's repositories have it. */
export function commitObject(repositoryUrl: string, sha: string, content: CommitContent): object {
  const { author, committer, tree, parents, message } = gitCommitObject(repositoryUrl, sha, content)
  const url = `${repositoryUrl}/commits/${sha}`
  return {
    sha,
    node_id: `commit:${sha}`,
    // Clients make all addresses that are about the commit from this one.
    url,
    html_url: url,
    commit: { message, author, committer, tree },
    author: null,
    committer: null,
    parents: parents.map((parent) => ({ sha: parent.sha, url: `${repositoryUrl}/commits/${parent.sha}` })),
  }
}

/** A commit as GitHub's git database has it. */
export function gitCommitObject(repositoryUrl: string, sha: string, content: CommitContent) {
  const git = `${repositoryUrl}/git`
  return {
    sha,
    node_id: `commit:${sha}`,
    url: `${git}/commits/${sha}`,
    message: content.message.replace(/\n+$/, ''),
    author: signature(content.author),
    committer: signature(content.committer),
    tree: { sha: content.tree, url: `${git}/trees/${content.tree}` },
    parents: content.parents.map((parent) => ({ sha: parent, url: `${git}/commits/${parent}` })),
  }
}

function signature({ name, email, seconds }: Signature) {
  return { name, email, date: timeOf(seconds) }
}
