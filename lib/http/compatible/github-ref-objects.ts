import type { components } from '@octokit/openapi-types'
import type { GateRule } from '../../git/gate-rules.js'
import type { ObjectHeader, PeeledRef } from '../../git/objects.js'
import type { Ref } from '../../git/ref-list.js'
import { refPath } from './formats.js'
import { commitObject, type CommitPlace } from './github-objects.js'
import { shortRef, type LocatedBranch } from './ref-operations.js'

/* What GitHub Enterprise Server answers of branches, tags and other refs. */

type Schemas = components['schemas']

export function refObject(repositoryUrl: string, { name, object }: PeeledRef) {
  return {
    ref: name,
    node_id: `ref:${name}`,
    url: `${repositoryUrl}/git/${refPath(name)}`,
    object: { sha: object.id, type: object.type, url: gitObjectUrl(repositoryUrl, object) },
  } satisfies Schemas['git-ref']
}

export function gitObjectUrl(repositoryUrl: string, { type, id }: ObjectHeader): string {
  return `${repositoryUrl}/git/${type}s/${id}`
}

export function branchItem(repositoryUrl: string, ref: Ref, rule: GateRule | undefined) {
  return {
    name: shortRef(ref),
    commit: { sha: ref.id, url: `${repositoryUrl}/commits/${ref.id}` },
    protected: rule !== undefined,
  } satisfies Schemas['short-branch']
}

export function branchObject(place: CommitPlace, { name, commit, content, rule }: LocatedBranch) {
  const self = `${place.repositoryUrl}/branches/${refPath(name)}`
  // What a pattern stands for is no context that a client could wait for.
  const contexts = (rule?.require ?? []).filter((context) => !context.includes('*'))
  return {
    name,
    commit: commitObject(place, commit.hex, content),
    _links: { self, html: `${place.root}/${place.name.full}/tree/${refPath(name)}` },
    protected: rule !== undefined,
    protection: {
      enabled: rule !== undefined,
      required_status_checks: {
        enforcement_level: rule ? 'everyone' : 'off',
        contexts,
        checks: contexts.map((context) => ({ context, app_id: null })),
      },
    },
    protection_url: `${self}/protection`,
  } satisfies Schemas['branch-with-protection']
}

export function tagObject(repositoryUrl: string, { name, target }: PeeledRef) {
  const path = refPath(name)
  return {
    name: shortRef({ name, id: target.id }),
    commit: { sha: target.id, url: `${repositoryUrl}/commits/${target.id}` },
    zipball_url: `${repositoryUrl}/zipball/${path}`,
    tarball_url: `${repositoryUrl}/tarball/${path}`,
    node_id: `ref:${name}`,
  } satisfies Schemas['tag']
}
