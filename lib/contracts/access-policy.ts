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

/** The right of a user on a repository, apart from its being public, as it was at one moment. */
export interface KnownRight {
  /** `owner/repo` */
  readonly repository: string
  readonly access: Access
}

/** Which rights users have. Replaceable by a host that has its own users. */
export interface AccessPolicy {
  /**
   * The right of `user` on `repository`, apart from its being public. Asked for every request, so that a right
   * taken away is gone at once; asked for missing repositories too, and must then answer as for one it does not
   * know. A rejection counts as `none`, but for `StoreUnavailable` and `RightsUnavailable`: then the request is to be
   * tried again later.
   * @param wanted the most that whoever asks has a use for: who may do more may be answered that
   */
  access(user: string, repository: RepositoryName, wanted?: Access): Promise<Access>
  /**
   * The rights of `user` on each of many repositories, for a policy to which that is less than one after the other; the
   * rest as for `access`.
   */
  accessToEach?(user: string, repositories: readonly RepositoryName[], wanted?: Access): Promise<readonly Access[]>
}
