import { limitAccess } from '../auth/token-limits.js'
import { ServiceError, StoreUnavailable, toServiceError } from '../errors.js'
import { atLeast, higher, type Access, type AccessPolicy } from '../contracts/access-policy.js'
import { andThen, outcomeOf, type Eventual, type Outcome, type Prompt } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** Who asks: a user, nobody in particular, or the program that the service lives in. */
export interface Caller {
  /** Absent for an anonymous caller. */
  readonly user?: string
  /** The id of the token that speaks for the user, where it has one. */
  readonly tokenId?: string
  /** What narrows that token. */
  readonly limits?: TokenLimits
  /** The host itself, whose rights nobody asks for. */
  readonly host?: true
}

/** A repository that a caller may see. */
export interface FoundRepository {
  readonly name: RepositoryName
  readonly repository: Repository
  /** The caller's right; never `none`. */
  readonly access: Access
}

export interface RepositoryAccessParts {
  readonly repositories: Prompt<Repositories>
  readonly policy: Prompt<AccessPolicy>
  readonly logger: Logger
}

/** Which repositories callers may see, and what they may do with them. */
export class RepositoryAccess {
  readonly #parts: RepositoryAccessParts

  constructor(parts: RepositoryAccessParts) {
    this.#parts = parts
  }

  /**
   * Repository look-up and right: for whoever may not read it, a private repository is the same as a missing one.
   * @param name `undefined` for a name that breaks the name rules
   * @throws ServiceError
   */
  find(caller: Caller, name: RepositoryName | undefined, needed: Access): Eventual<FoundRepository> {
    return andThen(name ? this.#look(caller, name) : nothing, ([repository, access]) => {
      if (caller.user === undefined && !caller.host && (needed === 'write' || !repository?.public))
        throw new ServiceError('credentials_missing')
      if (!name || !repository || access === 'none') throw new ServiceError('repository_not_found')
      if (!atLeast(access, needed)) throw new ServiceError('write_denied')
      return { name, repository, access }
    })
  }

  /**
   * The right of a caller (without a user: of everybody) on a repository. What cannot be determined is `none`, and so
   * is the right on a repository that does not exist.
   */
  async rightOf(caller: Caller, name: RepositoryName): Promise<Access> {
    try {
      const [repository, access] = await this.#look(caller, name)
      return repository ? access : 'none'
    } catch (error) {
      const { user } = caller
      this.#parts.logger.error({ err: error, repository: name.full, user }, 'access cannot be determined')
      return 'none'
    }
  }

  /**
   * Asks for the right first, whatever a token is limited to, and then for what the right lets see: so a private
   * repository takes the time of a missing one.
   */
  #look({ user, limits = {}, host }: Caller, name: RepositoryName): Eventual<Found> {
    if (user === undefined) return this.#lookAs(host ? 'write' : 'none', name)
    const asked = outcomeOf(() => this.#parts.policy.access(user, name))
    return andThen(asked, (right) => this.#lookAs(limitAccess(this.#granted(right, name, user), limits, name), name))
  }

  #lookAs(access: Access, name: RepositoryName): Eventual<Found> {
    const only = access === 'none' ? 'public' : undefined
    const looked = outcomeOf(() => this.#parts.repositories.find(name, only))
    return andThen(looked, (found) => this.#found(found, access, name))
  }

  #found(found: Outcome<Repository | undefined>, access: Access, name: RepositoryName): Found {
    if ('value' in found) return [found.value, higher(access, found.value?.public ? 'read' : 'none')]
    // Only who may see the repository learns that there is something wrong with it.
    if (access !== 'none') throw new ServiceError('repository_unreadable', { cause: found.error })
    this.#parts.logger.error({ err: found.error, repository: name.full }, 'the repository cannot be looked up')
    return nothing
  }

  #granted(right: Outcome<Access>, { full: repository }: RepositoryName, user: string | undefined): Access {
    if ('value' in right) return right.value
    // A store that cannot be used says nothing of the right: the answer is to come again, and nothing more.
    if (right.error instanceof StoreUnavailable) throw toServiceError(right.error)
    this.#parts.logger.error({ err: right.error, repository, user }, 'access cannot be determined')
    return 'none'
  }
}

/** What was found under a name, and the right on it. */
type Found = readonly [Repository | undefined, Access]

const nothing: Found = [undefined, 'none']
