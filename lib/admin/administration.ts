import { ACCESS } from '../access.js'
import type { Tokens } from '../auth/tokens.js'
import type { CommitStatus } from '../commit-status.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import { parseObjectId } from '../object-id.js'
import { isOwnerName, parseRepositoryName, type RepositoryName } from '../repository-name.js'
import { BackupRefused, type Store, type StoreCounts, type StoreFindings, type StoreMaintenance, type TokenRecord, type TokenUse } from '../store/store.js'

/** What an admin asked for cannot be done; the message says why, in words for the admin. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError'
}

/** A token as it is listed: nothing in it opens anything. */
export type ListedToken = Omit<TokenRecord & TokenUse, 'digest'>

/** A grant as it is listed. */
export interface ListedGrant {
  /** `owner` or `owner/repo`. */
  readonly on: string
  readonly user: string
  readonly access: 'read' | 'write'
}

export interface ListedRepository {
  readonly repository: string
  readonly visibility: 'public' | 'private'
}

/**
 * What an admin does with a service, whether it is running or not; every change is on disk, and seen by the running
 * service, once its promise has resolved. Arguments and results are plain JSON, since they may cross a socket.
 * All reject with `AdministrationError` when an argument is wrong or what it names does not exist.
 */
export interface Administration {
  /** @param request.expiresAt ISO 8601, `null`: never */
  createToken(request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null }): Promise<{ token: string } & ListedToken>
  listTokens(user: string | null): Promise<ListedToken[]>
  revokeToken(id: string): Promise<void>
  grantAccess(on: string, user: string, access: string): Promise<void>
  revokeAccess(on: string, user: string): Promise<void>
  /** @param on `null`: every grant; `owner`: its repositories' grants too */
  listAccess(on: string | null): Promise<ListedGrant[]>
  listRepositories(): Promise<ListedRepository[]>
  setVisibility(repository: string, visibility: 'public' | 'private'): Promise<void>
  /** @param sha `null`: of every commit that has any */
  listStatuses(repository: string, sha: string | null): Promise<CommitStatus[]>
  /** Reads everything, and checks every checksum there is. */
  verifyStore(): Promise<StoreFindings>
  /**
   * Copies everything, as it was at one moment, to a folder that is new or empty; nothing is left there on failure.
   * @param folder absolute path, as the service sees it
   */
  backUpStore(folder: string): Promise<StoreCounts>
}

export interface AdministrationParts {
  readonly store: Store
  readonly tokens: Tokens
  /** Absent where the host has its own. */
  readonly repositories?: RepositoryFolder
}

/** Administration of the store and the repositories at hand. */
export class LocalAdministration implements Administration {
  readonly #store: Store
  readonly #tokens: Tokens
  readonly #repositories: RepositoryFolder | undefined

  constructor(parts: AdministrationParts) {
    this.#store = parts.store
    this.#tokens = parts.tokens
    this.#repositories = parts.repositories
  }

  async createToken(request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null }): Promise<{ token: string } & ListedToken> {
    const expiresAt = request.expiresAt === null ? null : Date.parse(request.expiresAt)
    if (Number.isNaN(expiresAt)) throw new AdministrationError(`${String(request.expiresAt)} is no time`)
    const unknown = request.scopes.find((scope) => scope !== 'repo')
    if (unknown !== undefined) throw new AdministrationError(`there is no scope ${unknown}`)
    const { token, record } = await this.#tokens.create({ ...request, user: checkUser(request.user), expiresAt })
    return { token, ...listed({ ...record, last_used_at: null }) }
  }

  async listTokens(user: string | null): Promise<ListedToken[]> {
    return (await this.#store.tokens.list(user ?? undefined)).map(listed)
  }

  async revokeToken(id: string): Promise<void> {
    if (!(await this.#store.tokens.remove(id))) throw new AdministrationError(`there is no token ${id}`)
  }

  async grantAccess(on: string, user: string, access: string): Promise<void> {
    const level = ACCESS.find((candidate) => candidate === access)
    if (level === undefined || level === 'none') throw new AdministrationError(`access must be read or write, not ${access}`)
    await this.#store.grants.set({ ...target(on), user: checkUser(user), access: level })
  }

  async revokeAccess(on: string, user: string): Promise<void> {
    const removed = await this.#store.grants.remove({ ...target(on), user: checkUser(user) })
    if (!removed) throw new AdministrationError(`${user} has no grant on ${on}`)
  }

  async listAccess(on: string | null): Promise<ListedGrant[]> {
    const { owner, repository } = on === null ? {} : target(on)
    return (await this.#store.grants.list(owner, repository)).map(({ owner, repository, user, access }) => ({ on: repository?.full ?? owner, user, access }))
  }

  async listRepositories(): Promise<ListedRepository[]> {
    const found: ListedRepository[] = []
    for await (const { name, public: isPublic } of this.#folder().list()) found.push({ repository: name.full, visibility: isPublic ? 'public' : 'private' })
    return found
  }

  async setVisibility(repository: string, visibility: 'public' | 'private'): Promise<void> {
    if (!(await this.#folder().setPublic(checkRepository(repository), visibility === 'public'))) throw new AdministrationError(`there is no repository ${repository}`)
  }

  async listStatuses(repository: string, sha: string | null): Promise<CommitStatus[]> {
    const name = checkRepository(repository)
    if (sha === null) {
      const statuses: CommitStatus[] = []
      for await (const status of this.#store.statuses.scan(name)) statuses.push(status)
      return statuses
    }
    const commit = parseObjectId(sha)
    if (!commit) throw new AdministrationError(`${sha} is not a full 40 or 64 character hex commit id`)
    return await this.#store.statuses.list(name, commit)
  }

  async verifyStore(): Promise<StoreFindings> {
    return await this.#maintenance().verify()
  }

  async backUpStore(folder: string): Promise<StoreCounts> {
    try {
      return await this.#maintenance().backUp(folder)
    } catch (error) {
      throw error instanceof BackupRefused ? new AdministrationError(error.message) : error
    }
  }

  #maintenance(): StoreMaintenance {
    if (!this.#store.maintenance) throw new AdministrationError('the git server that this service lives in has a store of its own')
    return this.#store.maintenance
  }

  #folder(): RepositoryFolder {
    if (!this.#repositories) throw new AdministrationError('the git server that this service lives in has its own way to find repositories')
    return this.#repositories
  }
}

function listed({ digest: _, ...token }: TokenRecord & TokenUse): ListedToken {
  return token
}

function checkUser(user: string): string {
  if (!isOwnerName(user)) throw new AdministrationError(`${JSON.stringify(user)} is no user name: 1 to 100 of A-Z a-z 0-9 . _ -, not starting with . or -`)
  return user
}

function checkRepository(full: string): RepositoryName {
  const name = parseRepositoryName(full)
  if (!name) throw new AdministrationError(`${JSON.stringify(full)} is no repository name: <owner>/<repo>`)
  return name
}

/** `owner` or `owner/repo`. */
function target(on: string): { owner: string; repository?: RepositoryName } {
  if (on.includes('/')) {
    const repository = checkRepository(on)
    return { owner: repository.owner, repository }
  }
  if (!isOwnerName(on)) throw new AdministrationError(`${JSON.stringify(on)} is no owner name: 1 to 100 of A-Z a-z 0-9 . _ -, not starting with . or -`)
  return { owner: on }
}
