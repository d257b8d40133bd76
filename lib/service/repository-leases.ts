import type { RepositoryName } from '../domain/repository-name.js'

/** The right of a report under way to be saved under the name it was sent to. */
export interface Lease {
  readonly name: string
  revoked: boolean
  holders: number
}

/**
 * Keeps reports that were under way when a repository was deleted or renamed from being saved under its old name
 * afterwards: they looked at the repository before, and a later one of that name must not show them.
 */
export class RepositoryLeases {
  readonly #leases = new Map<string, Lease>()

  take({ full }: RepositoryName): Lease {
    const lease = this.#leases.get(full) ?? { name: full, revoked: false, holders: 0 }
    lease.holders++
    this.#leases.set(full, lease)
    return lease
  }

  release(lease: Lease): void {
    lease.holders--
    if (lease.holders === 0 && this.#leases.get(lease.name) === lease) this.#leases.delete(lease.name)
  }

  /** Revokes every lease that is held on a name; those taken from now on are new. */
  revoke({ full }: RepositoryName): void {
    const lease = this.#leases.get(full)
    if (lease) lease.revoked = true
    this.#leases.delete(full)
  }
}
