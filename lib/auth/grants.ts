import { higher, type Access, type AccessPolicy, type KnownRight } from '../contracts/access-policy.js'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import type { Grant } from '../contracts/records.js'
import type { GrantStore } from '../contracts/store.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** The user named like the owner has write; grants on the owner or on the repository give others what they say. */
export class GrantPolicy implements MaybeSync<AccessPolicy> {
  readonly #store: GrantStore

  constructor(store: GrantStore) {
    this.#store = store
  }

  access(user: string, repository: RepositoryName): MaybePromise<Access> {
    const grants = this.#store.of(user, repository)
    return grants instanceof Promise
      ? grants.then((known) => granted(user, repository, known))
      : granted(user, repository, grants)
  }
}

/** What comes of grants that were read with who it is. */
export function knownRight(user: string, name: RepositoryName, grants: readonly Pick<Grant, 'access'>[]): KnownRight {
  return { repository: name.full, access: granted(user, name, grants) }
}

/** @param grants those that give the user something on the repository */
function granted(user: string, { owner }: RepositoryName, grants: readonly Pick<Grant, 'access'>[]): Access {
  const own: Access = user === owner ? 'write' : 'none'
  return grants.reduce<Access>((access, grant) => higher(access, grant.access), own)
}
