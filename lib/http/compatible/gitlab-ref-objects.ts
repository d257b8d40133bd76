import type { CommitContent } from '../../git/commit-content.js'
import type { Ref } from '../../git/ref-list.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { Call } from './api.js'
import { refPath, timeOf } from './formats.js'
import { commitBasics, type GitlabCommitBasics } from './gitlab-objects.js'
import { shortRef, type TagWithCommit } from './ref-operations.js'

/* What GitLab answers of branches and tags. */

interface GitlabBranch {
  readonly name: string
  readonly merged: boolean
  readonly protected: boolean
  readonly default: boolean
  readonly developers_can_push: boolean
  readonly developers_can_merge: boolean
  readonly can_push: boolean
  readonly web_url: string
  readonly commit: GitlabCommitBasics
}

interface GitlabTag {
  readonly name: string
  readonly message: string | null
  /** Of an annotated tag its own id. */
  readonly target: string
  readonly commit: GitlabCommitBasics | null
  readonly release: null
  readonly protected: boolean
  readonly created_at: string | null
}

/** What a branch is besides its commit. */
export interface BranchFacts {
  readonly isMerged: boolean
  readonly isProtected: boolean
  readonly defaultBranch: string
}

export function branchObject(
  call: Call,
  found: VisibleRepository,
  ref: Ref & { readonly content: CommitContent },
  { isMerged, isProtected, defaultBranch }: BranchFacts,
): GitlabBranch {
  const name = shortRef(ref)
  return {
    name,
    merged: isMerged,
    protected: isProtected,
    default: name === defaultBranch,
    developers_can_push: false,
    developers_can_merge: false,
    can_push: found.access === 'write',
    web_url: `${call.root}/${found.name.full}/-/tree/${refPath(name)}`,
    commit: commitBasics(call, found, ref.id, ref.content),
  }
}

export function tagObject(call: Call, found: VisibleRepository, tag: TagWithCommit, isProtected: boolean): GitlabTag {
  const { annotation, object, target, content } = tag
  return {
    name: shortRef(tag),
    message: annotation?.message ?? null,
    target: object.id,
    commit: content ? commitBasics(call, found, target.id, content) : null,
    release: null,
    protected: isProtected,
    created_at: annotation ? timeOf(annotation.tagger.seconds) : null,
  }
}
