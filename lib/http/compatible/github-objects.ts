import type { components } from '@octokit/openapi-types'
import { STATES, type State } from '../../domain/commit-status.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import type { CommitContent, Signature } from '../../git/commit-content.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Addresses } from './api.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { cloneUrls, commitPageUrl, segment, timeOf, toSecond, UNKNOWN_TIME } from './formats.js'
import { repositoryUrl, type Maker } from './github-like.js'
import { nameNumber, reportNumber } from './numbers.js'
import { jsonFields, reportShape } from './report-fields.js'

/*
 * What GitHub Enterprise Server answers: every member that it always has, at the addresses that it has, whether or not
 * something answers there.
 */

/** Of the server whose description the answers fit. */
export const VERSION = '3.19.0'

const STATES_BY_NAME: ReadonlyMap<string, State> = new Map(STATES.map((state) => [state, state]))

type Schemas = components['schemas']

export const githubMaker: Maker<Person, ReturnType<typeof statusObject>, ReturnType<typeof repositoryObject>> = {
  name: 'github',
  pages: { parameter: 'per_page', defaultSize: 30, maxSize: 100 },
  shapeOf: (body) => reportShape(jsonFields(body), STATES_BY_NAME),
  missingCommit: 422,
  locates: true,
  headersOf: () => ({}),
  person: personObject,
  status: statusObject,
  repository: (call, { found }, branch) => repositoryObject(call, found, branch),
  combined: (combined) => combined satisfies Schemas['combined-commit-status'],
}

type Person = ReturnType<typeof personObject>

function statusObject(url: string, status: ReportedStatus, creator: Person | null) {
  return {
    url,
    id: reportNumber(status),
    node_id: status.id,
    state: status.state,
    description: status.description,
    target_url: status.target_url,
    context: status.context,
    created_at: toSecond(status.created_at),
    updated_at: toSecond(status.updated_at),
    avatar_url: null,
    creator,
  } satisfies Schemas['status']
}

export function personObject({ base, root }: Addresses, login: string) {
  const path = segment(login)
  const url = `${base}/users/${path}`
  const id = nameNumber(login)
  return {
    login,
    id,
    node_id: `user:${login}`,
    avatar_url: `${root}/avatars/u/${id}`,
    gravatar_id: '',
    url,
    html_url: `${root}/${path}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: 'User',
    site_admin: false,
  } satisfies Schemas['simple-user']
}

/** Of a person that is asked for. */
export function userObject(addresses: Addresses, login: string) {
  return {
    ...personObject(addresses, login),
    name: null,
    company: null,
    blog: null,
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: UNKNOWN_TIME,
    updated_at: UNKNOWN_TIME,
  } satisfies Schemas['public-user']
}

/** A repository as a part of another answer. */
function repositoryObject(addresses: Addresses, found: VisibleRepository, branch: string) {
  const { name, repository, access } = found
  const url = repositoryUrl(addresses, found)
  return {
    id: nameNumber(name.full),
    node_id: `repository:${name.full}`,
    name: name.name,
    full_name: name.full,
    owner: personObject(addresses, name.owner),
    private: !repository.public,
    html_url: `${addresses.root}/${name.full}`,
    description: null,
    fork: false,
    url,
    archive_url: `${url}/{archive_format}{/ref}`,
    assignees_url: `${url}/assignees{/user}`,
    blobs_url: `${url}/git/blobs{/sha}`,
    branches_url: `${url}/branches{/branch}`,
    collaborators_url: `${url}/collaborators{/collaborator}`,
    comments_url: `${url}/comments{/number}`,
    commits_url: `${url}/commits{/sha}`,
    compare_url: `${url}/compare/{base}...{head}`,
    contents_url: `${url}/contents/{+path}`,
    contributors_url: `${url}/contributors`,
    deployments_url: `${url}/deployments`,
    downloads_url: `${url}/downloads`,
    events_url: `${url}/events`,
    forks_url: `${url}/forks`,
    git_commits_url: `${url}/git/commits{/sha}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    git_tags_url: `${url}/git/tags{/sha}`,
    hooks_url: `${url}/hooks`,
    issue_comment_url: `${url}/issues/comments{/number}`,
    issue_events_url: `${url}/issues/events{/number}`,
    issues_url: `${url}/issues{/number}`,
    keys_url: `${url}/keys{/key_id}`,
    labels_url: `${url}/labels{/name}`,
    languages_url: `${url}/languages`,
    merges_url: `${url}/merges`,
    milestones_url: `${url}/milestones{/number}`,
    notifications_url: `${url}/notifications{?since,all,participating}`,
    pulls_url: `${url}/pulls{/number}`,
    releases_url: `${url}/releases{/id}`,
    stargazers_url: `${url}/stargazers`,
    statuses_url: `${url}/statuses/{sha}`,
    subscribers_url: `${url}/subscribers`,
    subscription_url: `${url}/subscription`,
    tags_url: `${url}/tags`,
    teams_url: `${url}/teams`,
    trees_url: `${url}/git/trees{/sha}`,
    default_branch: branch,
    permissions: { admin: false, push: access === 'write', pull: true },
  } satisfies Schemas['minimal-repository']
}

/** @param born when its folder was made */
export function fullRepositoryObject(addresses: Addresses, found: VisibleRepository, branch: string, born: string) {
  const clone = cloneUrls(addresses.root, found)
  const repository = repositoryObject(addresses, found, branch)
  return {
    ...repository,
    git_url: `git://${clone.ssh.slice('ssh://git@'.length)}`,
    ssh_url: clone.ssh,
    clone_url: clone.http,
    svn_url: repository.html_url,
    mirror_url: null,
    homepage: null,
    language: null,
    license: null,
    size: 0,
    forks: 0,
    forks_count: 0,
    stargazers_count: 0,
    watchers: 0,
    watchers_count: 0,
    subscribers_count: 0,
    network_count: 0,
    open_issues: 0,
    open_issues_count: 0,
    has_issues: false,
    has_projects: false,
    has_wiki: false,
    has_pages: false,
    has_discussions: false,
    archived: false,
    disabled: false,
    created_at: born,
    updated_at: born,
    pushed_at: born,
  } satisfies Schemas['full-repository']
}

/** What a commit is shown of. */
export interface CommitPlace {
  readonly repositoryUrl: string
  readonly root: string
  readonly pages: string
  readonly name: RepositoryName
}

export function commitPlace(addresses: Addresses, found: VisibleRepository): CommitPlace {
  return {
    repositoryUrl: repositoryUrl(addresses, found),
    root: addresses.root,
    pages: addresses.pages,
    name: found.name,
  }
}

/** A commit as GitHub's repositories have it. */
export function commitObject(place: CommitPlace, sha: string, content: CommitContent) {
  const git = gitCommitObject(place, sha, content)
  // Clients make all addresses that are about the commit from this one.
  const url = `${place.repositoryUrl}/commits/${sha}`
  const { author, committer, tree, message, verification, html_url } = git
  return {
    sha,
    node_id: git.node_id,
    url,
    html_url,
    comments_url: `${url}/comments`,
    commit: { url: git.url, message, author, committer, tree, comment_count: 0, verification },
    author: null,
    committer: null,
    parents: git.parents.map((parent) => ({ ...parent, url: `${place.repositoryUrl}/commits/${parent.sha}` })),
  } satisfies Schemas['commit']
}

/** A commit as GitHub's git database has it. */
export function gitCommitObject({ repositoryUrl, pages, name }: CommitPlace, sha: string, content: CommitContent) {
  const git = `${repositoryUrl}/git`
  return {
    sha,
    node_id: `commit:${sha}`,
    url: `${git}/commits/${sha}`,
    html_url: commitPageUrl(pages, name, sha),
    message: content.message.replace(/\n+$/, ''),
    author: signature(content.author),
    committer: signature(content.committer),
    tree: { sha: content.tree, url: `${git}/trees/${content.tree}` },
    parents: content.parents.map((parent) => ({
      sha: parent,
      url: `${git}/commits/${parent}`,
      html_url: commitPageUrl(pages, name, parent),
    })),
    // Nobody checks signatures here.
    verification: { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
  } satisfies Schemas['git-commit']
}

function signature({ name, email, seconds }: Signature) {
  return { name, email, date: timeOf(seconds) }
}

/** What the API has, at its root. */
export function rootObject({ base, root }: Addresses) {
  const page = '{&page,per_page,sort,order}'
  const repositories = '{?type,page,per_page,sort}'
  return {
    current_user_url: `${base}/user`,
    current_user_authorizations_html_url: `${root}/settings/connections/applications{/client_id}`,
    authorizations_url: `${base}/authorizations`,
    code_search_url: `${base}/search/code?q={query}${page}`,
    commit_search_url: `${base}/search/commits?q={query}${page}`,
    emails_url: `${base}/user/emails`,
    emojis_url: `${base}/emojis`,
    events_url: `${base}/events`,
    feeds_url: `${base}/feeds`,
    followers_url: `${base}/user/followers`,
    following_url: `${base}/user/following{/target}`,
    gists_url: `${base}/gists{/gist_id}`,
    issue_search_url: `${base}/search/issues?q={query}${page}`,
    issues_url: `${base}/issues`,
    keys_url: `${base}/user/keys`,
    label_search_url: `${base}/search/labels?q={query}&repository_id={repository_id}{&page,per_page}`,
    notifications_url: `${base}/notifications`,
    organization_url: `${base}/orgs/{org}`,
    organization_repositories_url: `${base}/orgs/{org}/repos${repositories}`,
    organization_teams_url: `${base}/orgs/{org}/teams`,
    public_gists_url: `${base}/gists/public`,
    rate_limit_url: `${base}/rate_limit`,
    repository_url: `${base}/repos/{owner}/{repo}`,
    repository_search_url: `${base}/search/repositories?q={query}${page}`,
    current_user_repositories_url: `${base}/user/repos${repositories}`,
    starred_url: `${base}/user/starred{/owner}{/repo}`,
    starred_gists_url: `${base}/gists/starred`,
    user_url: `${base}/users/{user}`,
    user_organizations_url: `${base}/user/orgs`,
    user_repositories_url: `${base}/users/{user}/repos${repositories}`,
    user_search_url: `${base}/search/users?q={query}${page}`,
  } satisfies Schemas['root']
}

export const META = {
  verifiable_password_authentication: false,
  installed_version: VERSION,
} satisfies Schemas['api-overview'] & { installed_version: string }
