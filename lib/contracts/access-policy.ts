import type { RepositoryName } from '../domain/repository-name.js'

/** What a user may do with a repository: an ordered scale. */
export const ACCESS = ['none', 'read', 'write'] as const

export type Access = (typeof ACCESS)[number]

export function atLeast(access: Access, needed: Access): boolean {
  return ACCESS.indexOf(access) >= ACCESS.indexOf(needed)
}

export function higher(one: Access, other: Access): Access {
  return atLeast(one, other) ? one : other
}

/** Which rights users have. Replaceable by a host that has its own users. */
export interface AccessPolicy {
  /**
   * The right of `user` on `repository`, apart from its being public. Asked for every request, so that a right
   * taken away is gone at once; asked for missing repositories too, and must then answer as for one it does not
   * know. A rejection counts as `none`, but for `StoreUnavailable`: then the request is to be tried again later.
   */
  access(user: string, repository: RepositoryName): Promise<Access>
}
