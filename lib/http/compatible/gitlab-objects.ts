import type { State } from '../../domain/commit-status.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import type { LineCounts } from '../../git/changed-lines.js'
import type { CommitContent } from '../../git/commit-content.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Call } from './api.js'
import { cloneUrls, commitPageUrl, segment, timeOf } from './formats.js'
import { nameNumber, statusNumber } from './numbers.js'
import type { StatusSpan } from './operations.js'

/* What GitLab answers: every member that its entities always have. */

/** Of the server whose API this is like. */
export const VERSION = { version: '17.0.0', revision: 'commit-status' }

/** What an error was here: no client may take it for anything but a failure. */
const SHOWN_STATES = { pending: 'pending', success: 'success', failure: 'failed', error: 'failed' } as const

type GitlabState = (typeof SHOWN_STATES)[State]

interface GitlabUser {
  readonly id: number
  readonly username: string
  readonly name: string
  readonly state: 'active'
  readonly avatar_url: string | null
  readonly web_url: string
}

interface GitlabStatus {
  readonly id: number
  readonly sha: string
  readonly ref: string
  readonly status: GitlabState
  readonly name: string
  readonly target_url: string | null
  readonly description: string | null
  readonly created_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly allow_failure: boolean
  readonly coverage: number | null
  readonly pipeline_id: number
  readonly author: GitlabUser | null
}

interface GitlabPipeline {
  readonly id: number
  readonly sha: string
  readonly ref: string
  readonly status: GitlabState
  readonly web_url: string
  readonly created_at: string
  readonly updated_at: string
}

/** A commit as a part of another answer. */
export interface GitlabCommitBasics {
  readonly id: string
  readonly short_id: string
  readonly title: string
  readonly created_at: string
  readonly parent_ids: readonly string[]
  readonly message: string
  readonly author_name: string
  readonly author_email: string
  readonly authored_date: string
  readonly committer_name: string
  readonly committer_email: string
  readonly committed_date: string
  readonly web_url: string
}

interface GitlabCommit extends GitlabCommitBasics {
  readonly stats: { readonly additions: number; readonly deletions: number; readonly total: number }
  readonly status: GitlabState | null
  readonly last_pipeline: GitlabPipeline | null
}

interface GitlabProject {
  readonly id: number
  readonly name: string
  readonly name_with_namespace: string
  readonly description: string | null
  readonly path: string
  readonly path_with_namespace: string
  readonly created_at: string
  readonly default_branch: string
  readonly tag_list: readonly string[]
  readonly topics: readonly string[]
  readonly ssh_url_to_repo: string
  readonly http_url_to_repo: string
  readonly web_url: string
  readonly readme_url: string | null
  readonly avatar_url: string | null
  readonly star_count: number
  readonly forks_count: number
  readonly last_activity_at: string
  readonly visibility: 'public' | 'private'
  readonly namespace: {
    readonly id: number
    readonly name: string
    readonly path: string
    readonly kind: 'user' | 'group'
    readonly full_path: string
    readonly parent_id: number | null
  }
  /** Of the caller, who is always one of its members. */
  readonly permissions: {
    readonly project_access: { readonly access_level: 20 | 40 }
    readonly group_access: null
  }
}

export function statusObject(status: ReportedStatus, ref: string, author: GitlabUser | null): GitlabStatus {
  return {
    id: statusNumber(status),
    sha: status.sha,
    ref,
    status: SHOWN_STATES[status.state],
    name: status.context,
    target_url: status.target_url,
    description: status.description,
    created_at: status.created_at,
    started_at: null,
    finished_at: status.state === 'pending' ? null : status.updated_at,
    allow_failure: false,
    coverage: null,
    pipeline_id: pipelineNumber(status.sha),
    author,
  }
}

export function personObject({ root }: Call, username: string): GitlabUser {
  return {
    id: nameNumber(username),
    username,
    name: username,
    state: 'active',
    avatar_url: null,
    web_url: `${root}/${segment(username)}`,
  }
}

/** @param born when its folder was made */
export function projectObject(
  { root }: Call,
  found: VisibleRepository,
  { id, branch, born }: { readonly id: number; readonly branch: string; readonly born: string },
): GitlabProject {
  const { name, repository, access } = found
  const [last = '', ...folders] = name.full.split('/').reverse()
  const namespace = folders.reverse()
  const clone = cloneUrls(root, found)
  return {
    id,
    name: last,
    name_with_namespace: [...namespace, last].join(' / '),
    description: null,
    path: last,
    path_with_namespace: name.full,
    created_at: born,
    default_branch: branch,
    tag_list: [],
    topics: [],
    ssh_url_to_repo: clone.ssh,
    http_url_to_repo: clone.http,
    web_url: `${root}/${name.full}`,
    readme_url: null,
    avatar_url: null,
    star_count: 0,
    forks_count: 0,
    last_activity_at: born,
    visibility: repository.public ? 'public' : 'private',
    namespace: {
      id: nameNumber(namespace.join('/')),
      name: String(namespace.at(-1)),
      path: String(namespace.at(-1)),
      kind: namespace.length === 1 ? 'user' : 'group',
      full_path: namespace.join('/'),
      parent_id: namespace.length === 1 ? null : nameNumber(namespace.slice(0, -1).join('/')),
    },
    permissions: { project_access: { access_level: access === 'write' ? 40 : 20 }, group_access: null },
  }
}

/** What a commit is besides its content. */
export interface CommitFacts {
  readonly sha: string
  readonly branch: string
  /** Of what was reported; `undefined`: nothing. */
  readonly span: StatusSpan | undefined
  readonly lines: LineCounts
}

export function commitObject(
  call: Call,
  found: VisibleRepository,
  content: CommitContent,
  { sha, branch, span, lines: { additions, deletions } }: CommitFacts,
): GitlabCommit {
  const state = span && SHOWN_STATES[span.state]
  const pipeline = span &&
    state && {
      id: pipelineNumber(sha),
      sha,
      ref: branch,
      status: state,
      web_url: commitPageUrl(call.pages, found.name, sha),
      created_at: span.first,
      updated_at: span.last,
    }
  return {
    ...commitBasics(call, found, sha, content),
    stats: { additions, deletions, total: additions + deletions },
    status: state ?? null,
    last_pipeline: pipeline ?? null,
  }
}

export function commitBasics(
  { root }: Call,
  { name }: VisibleRepository,
  sha: string,
  { author, committer, parents, message }: CommitContent,
): GitlabCommitBasics {
  return {
    id: sha,
    short_id: sha.slice(0, 8),
    title: message.replace(/\n.*/s, ''),
    message,
    author_name: author.name,
    author_email: author.email,
    authored_date: timeOf(author.seconds),
    committer_name: committer.name,
    committer_email: committer.email,
    committed_date: timeOf(committer.seconds),
    created_at: timeOf(committer.seconds),
    parent_ids: parents,
    web_url: `${root}/${name.full}/-/commit/${sha}`,
  }
}

/** The statuses of a commit are one pipeline. */
function pipelineNumber(sha: string): number {
  return nameNumber(sha)
}
