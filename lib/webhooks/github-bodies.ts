import type {
  BranchDelivery,
  DeliveredCommit,
  PingDelivery,
  PushDelivery,
  PushedCommit,
  StatusDelivery,
} from '../contracts/hooks.js'
import type { StoredStatus } from '../domain/commit-status.js'
import { isNothing } from '../domain/push.js'
import type { Addresses } from '../http/compatible/api.js'
import { commitPageUrl, segment, timeOf, toSecond } from '../http/compatible/formats.js'
import { commitObject, commitPlace, fullRepositoryObject, personObject } from '../http/compatible/github-objects.js'
import { nameNumber, reportNumber } from '../http/compatible/numbers.js'
import type { VisibleRepository } from '../service/repository-access.js'

/*
 * What GitHub sends, with the members of Gitea that GitHub has none of beside: a receiver of either reads what it
 * knows.
 */

/** The most branches of a commit, and statuses of a branch, that are named. */
const [MAX_BRANCHES, MAX_STATUSES] = [10, 100]

/** A repository, as it is when something in it is told. */
export interface ToldRepository {
  readonly found: VisibleRepository
  readonly defaultBranch: string
  /** When its folder was made, to the second. */
  readonly born: string
}

/** The event `status`. */
export function statusBody(addresses: Addresses, told: ToldRepository, delivery: StatusDelivery) {
  const { repository, status, previous_state, commit, branches } = delivery
  const { reporter, sha } = status
  const url = commitUrl(addresses, told, sha)
  return {
    id: reportNumber(status),
    sha,
    name: repository.full,
    avatar_url: null,
    target_url: status.target_url,
    context: status.context,
    description: status.description,
    state: status.state,
    commit: toldCommit(addresses, told, sha, commit),
    branches: branches.slice(0, MAX_BRANCHES).map((name) => ({ name, commit: { sha, url }, protected: false })),
    created_at: toSecond(status.created_at),
    updated_at: toSecond(status.updated_at),
    repository: toldRepository(addresses, told),
    // Somebody must have sent it.
    sender: toldPerson(addresses, reporter?.user ?? repository.owner),
    previous_state,
    reporter: reporter?.user ?? null,
  }
}

/** The events `broken` and `fixed`, which others do not have. */
export function branchBody(addresses: Addresses, told: ToldRepository, delivery: BranchDelivery) {
  const { event, repository, branch, sha, statuses, commit } = delivery
  return {
    action: event,
    name: repository.full,
    ref: `refs/heads/${branch}`,
    branch,
    sha,
    state: event === 'broken' ? 'failure' : 'success',
    total_count: statuses.length,
    statuses: statuses.slice(0, MAX_STATUSES).map(toldStatus),
    commit: toldCommit(addresses, told, sha, commit),
    repository: toldRepository(addresses, told),
  }
}

/** The event `push`. */
export function pushBody(addresses: Addresses, told: ToldRepository, delivery: PushDelivery) {
  const { push, forced, commits, total, head } = delivery
  const { ref, before, after, pusher, sender } = push
  const repository = toldRepository(addresses, told)
  const compare = `${addresses.root}/${told.found.name.full}/compare/${before}...${after}`
  const toldPushed = (commit: PushedCommit) => pushedCommit(addresses, told, commit)
  return {
    ref,
    before,
    after,
    created: isNothing(before),
    deleted: isNothing(after),
    forced,
    base_ref: null,
    compare,
    commits: commits.map(toldPushed),
    head_commit: head ? toldPushed(head) : null,
    // Of a push it is that of the page: Jenkins finds the jobs of a repository by it.
    repository: { ...repository, url: repository.html_url },
    pusher: { name: pusher, email: null, login: pusher, username: pusher },
    sender: toldPerson(addresses, sender),
    compare_url: compare,
    total_commits: total,
  }
}

/** The event `ping`: nothing has happened. */
export function pingBody(addresses: Addresses, { hook }: PingDelivery) {
  const number = hookNumber(hook.id)
  const url = `${addresses.base}/hooks/${number}`
  const time = toSecond(hook.created_at)
  return {
    zen: 'What was told is told once more when it was not heard.',
    hook_id: number,
    hook: {
      type: hook.on.includes('*') ? 'Organization' : 'Repository',
      id: number,
      name: 'web',
      active: hook.state === 'active',
      events: hook.events,
      config: { content_type: 'json', insecure_ssl: '0', url: new URL(hook.url).origin },
      updated_at: time,
      created_at: time,
      url,
      ping_url: `${url}/pings`,
      deliveries_url: `${url}/deliveries`,
    },
    organization: toldOwner(addresses, hook.on.replace(/\/.*/, '')),
    sender: toldPerson(addresses, hook.by),
  }
}

/** A hook, for receivers that know hooks by numbers. */
export function hookNumber(id: string): number {
  return nameNumber(id)
}

function toldRepository(addresses: Addresses, { found, defaultBranch, born }: ToldRepository) {
  const repository = fullRepositoryObject(addresses, found, defaultBranch, born)
  return {
    ...repository,
    owner: toldPerson(addresses, found.name.owner),
    has_downloads: false,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? 'private' : 'public',
    custom_properties: {},
  }
}

/** An owner as an organization of GitHub, which each repository may be of. */
function toldOwner(addresses: Addresses, login: string) {
  const { id, avatar_url } = personObject(addresses, login)
  const url = `${addresses.base}/orgs/${segment(login)}`
  return {
    login,
    id,
    node_id: `organization:${login}`,
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url,
    description: null,
  }
}

/** Gitea's people have a `username`. */
function toldPerson(addresses: Addresses, login: string) {
  return { ...personObject(addresses, login), username: login }
}

/** Of a commit that cannot be read, what is known of it: nothing is made up. */
function toldCommit(addresses: Addresses, told: ToldRepository, sha: string, content: DeliveredCommit | undefined) {
  const place = commitPlace(addresses, told.found)
  const known = { sha, id: sha, url: commitUrl(addresses, told, sha), html_url: pageOf(addresses, told, sha) }
  if (!content) return known
  return { ...known, ...commitObject(place, sha, content), message: content.message, timestamp: timeIn(content) }
}

function toldStatus({ context, state, description, target_url, updated_at, reporter }: StoredStatus) {
  return { context, state, description, target_url, updated_at: toSecond(updated_at), reporter: reporter?.user ?? null }
}

function pushedCommit(addresses: Addresses, told: ToldRepository, commit: PushedCommit) {
  const { id, tree, message, author, committer, added = [], modified = [], removed = [] } = commit
  const person = ({ name, email }: DeliveredCommit['author']) => ({ name, email, username: name })
  return {
    id,
    tree_id: tree,
    distinct: true,
    message,
    timestamp: timeIn(commit),
    url: pageOf(addresses, told, id),
    author: person(author),
    committer: person(committer),
    added,
    removed,
    modified,
  }
}

function commitUrl(addresses: Addresses, { found }: ToldRepository, sha: string): string {
  return `${commitPlace(addresses, found).repositoryUrl}/commits/${sha}`
}

function pageOf({ pages }: Addresses, { found }: ToldRepository, sha: string): string {
  return commitPageUrl(pages, found.name, sha)
}

function timeIn({ committer }: DeliveredCommit): string {
  return timeOf(committer.seconds)
}
