import type { State } from '../../domain/commit-status.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Call } from './api.js'
import { cloneUrls, hostOf, segment, toSecond, UNKNOWN_TIME } from './formats.js'
import { repositoryUrl } from './github-like.js'
import { nameNumber, reportNumber } from './numbers.js'

/* What Gitea answers: every member that a real one has, and no other. */

/** Of the server whose answers these are like: clients want 1.11 at least, and know other states from 1.25 on. */
export const VERSION = '1.26.0'

/** What Gitea says of what has never been. */
export const NEVER = '0001-01-01T00:00:00Z'

export interface GiteaUser {
  readonly id: number
  readonly login: string
  readonly login_name: string
  readonly source_id: number
  readonly full_name: string
  readonly email: string
  readonly avatar_url: string
  readonly html_url: string
  readonly language: string
  readonly is_admin: boolean
  readonly last_login: string
  readonly created: string
  readonly restricted: boolean
  readonly active: boolean
  readonly prohibit_login: boolean
  readonly location: string
  readonly website: string
  readonly description: string
  readonly visibility: 'public'
  readonly followers_count: number
  readonly following_count: number
  readonly starred_repos_count: number
  readonly username: string
}

export interface GiteaStatus {
  readonly id: number
  readonly status: State
  readonly target_url: string
  readonly description: string
  readonly url: string
  readonly context: string
  readonly creator: GiteaUser | null
  readonly created_at: string
  readonly updated_at: string
}

export interface GiteaRepository {
  readonly id: number
  readonly owner: GiteaUser
  readonly name: string
  readonly full_name: string
  readonly description: string
  readonly empty: boolean
  readonly private: boolean
  readonly fork: boolean
  readonly template: boolean
  readonly mirror: boolean
  readonly size: number
  readonly language: string
  readonly languages_url: string
  readonly html_url: string
  readonly url: string
  readonly link: string
  readonly ssh_url: string
  readonly clone_url: string
  readonly original_url: string
  readonly website: string
  readonly stars_count: number
  readonly forks_count: number
  readonly watchers_count: number
  readonly branch_count: number
  readonly open_issues_count: number
  readonly open_pr_counter: number
  readonly release_counter: number
  readonly default_branch: string
  readonly archived: boolean
  readonly created_at: string
  readonly updated_at: string
  readonly archived_at: string
  readonly permissions: { readonly admin: boolean; readonly push: boolean; readonly pull: boolean }
  readonly has_code: boolean
  readonly has_issues: boolean
  readonly internal_tracker: {
    readonly enable_time_tracker: boolean
    readonly allow_only_contributors_to_track_time: boolean
    readonly enable_issue_dependencies: boolean
  }
  readonly has_wiki: boolean
  readonly has_pull_requests: boolean
  readonly has_projects: boolean
  readonly projects_mode: string
  readonly has_releases: boolean
  readonly has_packages: boolean
  readonly has_actions: boolean
  readonly ignore_whitespace_conflicts: boolean
  readonly allow_merge_commits: boolean
  readonly allow_rebase: boolean
  readonly allow_rebase_explicit: boolean
  readonly allow_squash_merge: boolean
  readonly allow_fast_forward_only_merge: boolean
  readonly allow_rebase_update: boolean
  readonly allow_manual_merge: boolean
  readonly autodetect_manual_merge: boolean
  readonly default_delete_branch_after_merge: boolean
  readonly default_merge_style: string
  readonly default_allow_maintainer_edit: boolean
  readonly avatar_url: string
  readonly internal: boolean
  readonly mirror_interval: string
  readonly object_format_name: 'sha1' | 'sha256'
  readonly mirror_updated: string
  readonly topics: readonly string[]
  readonly licenses: readonly string[]
}

export interface GiteaCombined {
  readonly state: State
  readonly sha: string
  readonly total_count: number
  readonly statuses: readonly GiteaStatus[]
  readonly repository: GiteaRepository
  readonly commit_url: string
  readonly url: string
}

export function statusObject(url: string, status: ReportedStatus, creator: GiteaUser | null): GiteaStatus {
  return {
    id: reportNumber(status),
    status: status.state,
    target_url: status.target_url ?? '',
    description: status.description ?? '',
    url,
    context: status.context,
    creator,
    created_at: toSecond(status.created_at),
    updated_at: toSecond(status.updated_at),
  }
}

export function personObject({ root }: Call, login: string): GiteaUser {
  const id = nameNumber(login)
  return {
    id,
    login,
    login_name: '',
    source_id: 0,
    full_name: '',
    email: hiddenEmail(root, login),
    avatar_url: `${root}/avatars/${id}`,
    html_url: `${root}/${segment(login)}`,
    language: '',
    is_admin: false,
    last_login: NEVER,
    created: UNKNOWN_TIME,
    restricted: false,
    active: true,
    prohibit_login: false,
    location: '',
    website: '',
    description: '',
    visibility: 'public',
    followers_count: 0,
    following_count: 0,
    starred_repos_count: 0,
    username: login,
  }
}

/** What is known of a repository besides what a caller may see of it. */
export interface RepositoryFacts {
  readonly branch: string
  /** When its folder was made. */
  readonly born: string
  readonly format: 'sha1' | 'sha256'
}

export function repositoryObject(
  call: Call,
  found: VisibleRepository,
  { branch, born, format }: RepositoryFacts,
): GiteaRepository {
  const { name, repository, access } = found
  const [id, url, html] = [nameNumber(name.full), repositoryUrl(call, found), `${call.root}/${name.full}`]
  const clone = cloneUrls(call.root, found)
  return {
    id,
    owner: personObject(call, name.owner),
    name: name.name,
    full_name: name.full,
    description: '',
    empty: false,
    private: !repository.public,
    fork: false,
    template: false,
    mirror: false,
    size: 0,
    language: '',
    languages_url: `${url}/languages`,
    html_url: html,
    url,
    link: '',
    ssh_url: clone.ssh,
    clone_url: clone.http,
    original_url: html,
    website: '',
    stars_count: 0,
    forks_count: 0,
    watchers_count: 0,
    branch_count: 0,
    open_issues_count: 0,
    open_pr_counter: 0,
    release_counter: 0,
    default_branch: branch,
    archived: false,
    created_at: born,
    updated_at: born,
    archived_at: UNKNOWN_TIME,
    permissions: { admin: false, push: access === 'write', pull: true },
    has_code: true,
    has_issues: false,
    internal_tracker: {
      enable_time_tracker: false,
      allow_only_contributors_to_track_time: false,
      enable_issue_dependencies: false,
    },
    has_wiki: false,
    has_pull_requests: false,
    has_projects: false,
    projects_mode: 'all',
    has_releases: false,
    has_packages: false,
    has_actions: false,
    ignore_whitespace_conflicts: false,
    allow_merge_commits: false,
    allow_rebase: false,
    allow_rebase_explicit: false,
    allow_squash_merge: false,
    allow_fast_forward_only_merge: false,
    allow_rebase_update: false,
    allow_manual_merge: false,
    autodetect_manual_merge: false,
    default_delete_branch_after_merge: false,
    default_merge_style: 'merge',
    default_allow_maintainer_edit: false,
    avatar_url: `${call.root}/repo-avatars/${id}`,
    internal: false,
    mirror_interval: '',
    object_format_name: format,
    mirror_updated: NEVER,
    topics: [],
    licenses: [],
  }
}

/** An address that nobody reads, as Gitea has for whoever hides theirs: at `noreply.` of the host's name. */
function hiddenEmail(root: string, login: string): string {
  const host = hostOf(root)
  const isName = /^[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/i.test(host)
  // What an address may not hold before its @ without quotes.
  const local = segment(login).replace(/[()]|^\.|\.$|\.(?=\.)/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  return `${local}@noreply.${isName ? host : 'localhost'}`
}
