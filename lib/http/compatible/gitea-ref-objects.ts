import type { LineCounts } from '../../git/changed-lines.js'
import type { CommitContent, Signature } from '../../git/commit-content.js'
import type { GateRule } from '../../git/gate-rules.js'
import type { PeeledRef } from '../../git/objects.js'
import type { Ref } from '../../git/ref-list.js'
import type { Tag } from '../../git/tags.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Call } from './api.js'
import { commitPageUrl, refPath, timeOf } from './formats.js'
import { NEVER } from './gitea-objects.js'
import { repositoryUrl } from './github-like.js'
import { shortRef } from './ref-operations.js'

/* What Gitea answers of branches, tags, other refs and the commits that they name. */

interface GiteaVerification {
  readonly verified: boolean
  readonly reason: string
  readonly signature: string
  readonly signer: null
  readonly payload: string
}

interface GiteaPayloadUser {
  readonly name: string
  readonly email: string
  readonly username: string
}

interface GiteaBranch {
  readonly name: string
  readonly commit: {
    readonly id: string
    readonly message: string
    readonly url: string
    readonly author: GiteaPayloadUser
    readonly committer: GiteaPayloadUser
    readonly verification: GiteaVerification
    readonly timestamp: string
    readonly added: null
    readonly removed: null
    readonly modified: null
  }
  readonly protected: boolean
  readonly required_approvals: number
  readonly enable_status_check: boolean
  readonly status_check_contexts: readonly string[]
  readonly user_can_push: boolean
  readonly user_can_merge: boolean
  readonly effective_branch_protection_name: string
}

interface GiteaReference {
  readonly ref: string
  readonly url: string
  readonly object: { readonly type: string; readonly sha: string; readonly url: string }
}

interface GiteaCommitMeta {
  readonly url: string
  readonly sha: string
  readonly created: string
}

interface GiteaTag {
  readonly name: string
  readonly message: string
  readonly id: string
  readonly commit: GiteaCommitMeta
  readonly zipball_url: string
  readonly tarball_url: string
}

interface GiteaCommitUser {
  readonly name: string
  readonly email: string
  readonly date: string
}

interface GiteaCommit extends GiteaCommitMeta {
  readonly html_url: string
  readonly commit: {
    readonly url: string
    readonly author: GiteaCommitUser
    readonly committer: GiteaCommitUser
    readonly message: string
    readonly tree: GiteaCommitMeta
    readonly verification: GiteaVerification
  }
  readonly author: null
  readonly committer: null
  readonly parents: readonly GiteaCommitMeta[]
  readonly files: readonly { readonly filename: string; readonly status: string }[]
  readonly stats: { readonly total: number; readonly additions: number; readonly deletions: number }
}

/** Nobody checks signatures here. */
const UNVERIFIED: GiteaVerification = {
  verified: false,
  reason: 'gpg.error.not_signed_commit',
  signature: '',
  signer: null,
  payload: '',
}

export function branchObject(
  { pages }: Call,
  { name, access }: VisibleRepository,
  ref: Ref & { readonly content: CommitContent },
  rule: GateRule | undefined,
): GiteaBranch {
  const { author, committer, message } = ref.content
  const mayWrite = access === 'write'
  return {
    name: shortRef(ref),
    commit: {
      id: ref.id,
      message,
      url: commitPageUrl(pages, name, ref.id),
      author: payloadUser(author),
      committer: payloadUser(committer),
      verification: UNVERIFIED,
      timestamp: timeOf(author.seconds),
      added: null,
      removed: null,
      modified: null,
    },
    protected: rule !== undefined,
    required_approvals: 0,
    enable_status_check: rule !== undefined,
    status_check_contexts: rule?.require ?? [],
    user_can_push: mayWrite,
    user_can_merge: mayWrite,
    // For admins of the repository alone, whom nobody is here.
    effective_branch_protection_name: '',
  }
}

export function referenceObject(repositoryUrl: string, { name, object: { type, id } }: PeeledRef): GiteaReference {
  const git = `${repositoryUrl}/git`
  return { ref: name, url: `${git}/${refPath(name)}`, object: { type, sha: id, url: `${git}/${type}s/${id}` } }
}

/** @param content of the commit; absent of a tag of something else */
export function tagObject(
  call: Call,
  found: VisibleRepository,
  tag: Tag,
  content: CommitContent | undefined,
): GiteaTag {
  const { annotation, object, target } = tag
  const name = shortRef(tag)
  const archive = `${call.root}/${found.name.full}/archive/${encodeURIComponent(name)}`
  const created = annotation?.tagger ?? content?.committer
  return {
    name,
    message: annotation?.message ?? content?.message.trim() ?? '',
    id: object.id,
    commit: {
      url: `${repositoryUrl(call, found)}/git/commits/${target.id}`,
      sha: target.id,
      created: created ? timeOf(created.seconds) : NEVER,
    },
    zipball_url: `${archive}.zip`,
    tarball_url: `${archive}.tar.gz`,
  }
}

export function commitObject(
  call: Call,
  found: VisibleRepository,
  sha: string,
  { author, committer, message, tree, parents }: CommitContent,
  { additions, deletions }: LineCounts,
): GiteaCommit {
  const git = `${repositoryUrl(call, found)}/git`
  const [url, created] = [`${git}/commits/${sha}`, timeOf(committer.seconds)]
  return {
    url,
    sha,
    created,
    html_url: commitPageUrl(call.pages, found.name, sha),
    commit: {
      url,
      author: commitUser(author),
      committer: commitUser(committer),
      message,
      tree: { url: `${git}/trees/${tree}`, sha: tree, created },
      verification: UNVERIFIED,
    },
    author: null,
    committer: null,
    parents: parents.map((parent) => ({ url: `${git}/commits/${parent}`, sha: parent, created: NEVER })),
    files: [],
    stats: { total: additions + deletions, additions, deletions },
  }
}

function payloadUser({ name, email }: Signature): GiteaPayloadUser {
  return { name, email, username: '' }
}

function commitUser({ name, email, seconds }: Signature): GiteaCommitUser {
  return { name, email, date: timeOf(seconds) }
}
