import { higher, type Access, type AccessPolicy } from '../access.js'
import type { RepositoryName } from '../repository-name.js'
import type { GrantStore } from '../store/store.js'

/** The user named like the owner has write; grants on the owner or on the repository give others what they say. */
export class GrantPolicy implements AccessPolicy {
  readonly #store: GrantStore

  constructor(store: GrantStore) {
    this.#store = store
  }

  async access(user: string, repository: RepositoryName): Promise<Access> {
    const grants = await this.#store.of(user, repository)
    const own: Access = user === repository.owner ? 'write' : 'none'
    return grants.reduce<Access>((access, grant) => higher(access, grant.access), own)
  }
}
