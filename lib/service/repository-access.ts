import { limitAccess } from '../auth/token-limits.js'
import { RightsUnavailable, ServiceError, StoreUnavailable, toServiceError } from '../errors.js'
import type { Access, AccessPolicy, KnownRight } from '../contracts/access-policy.js'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
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
  /** Rights of the user that were found for this request: nobody is asked for them again. */
  readonly rights?: readonly KnownRight[]
  /** The host itself, whose rights nobody asks for. */
  readonly host?: true
}

/** A repository that a caller may see. */
export interface VisibleRepository {
  readonly name: RepositoryName
  readonly repository: Repository
  /** The caller's right, as far as it was wanted; never `none`. */
  readonly access: Access
}

export interface RepositoryAccessDependencies {
  readonly repositories: MaybeSync<Repositories>
  readonly policy: MaybeSync<AccessPolicy>
  readonly logger: Logger
}

/** Which repositories callers may see, and what they may do with them. */
export class RepositoryAccess {
  readonly #dependencies: RepositoryAccessDependencies

  constructor(dependencies: RepositoryAccessDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Repository look-up and right: for whoever may not read it, a private repository is the same as a missing one.
   * @param name `undefined` for a name that breaks the name rules
   * @param wanted the most that there is a use for: see `AccessPolicy.access`
   * @throws ServiceError
   */
  find(
    caller: Caller,
    name: RepositoryName | undefined,
    needed: Access,
    wanted: Access = needed,
  ): MaybePromise<VisibleRepository> {
    const found = name ? this.#look(caller, name, wanted) : nothing
    return found instanceof Promise
      ? found.then((looked) => visible(caller, name, needed, looked))
      : visible(caller, name, needed, found)
  }

  /**
   * The right of a caller (without a user: of everybody) on a repository. What cannot be determined is `none`, and so
   * is the right on a repository that does not exist.
   */
  async rightOf(caller: Caller, name: RepositoryName): Promise<Access> {
    try {
      const [repository, access] = await this.#look(caller, name, 'write')
      return repository ? access : 'none'
    } catch (error) {
      const { user } = caller
      this.#dependencies.logger.error({ err: error, repository: name.full, user }, 'access cannot be determined')
      return 'none'
    }
  }

  /**
   * Which repositories a user may read, apart from those that are public.
   * @param names some that are there
   * @throws ServiceError
   */
  async readable(user: string, names: readonly RepositoryName[]): Promise<readonly boolean[]> {
    const { policy, logger } = this.#dependencies
    if (!policy.accessToEach)
      return await Promise.all(names.map(async (name) => (await this.rightOf({ user }, name)) !== 'none'))
    try {
      return (await policy.accessToEach(user, names, 'read')).map((access) => access !== 'none')
    } catch (error) {
      if (error instanceof RightsUnavailable) throw toServiceError(error)
      logger.error({ err: error, user }, 'access cannot be determined')
      return names.map(() => false)
    }
  }

  /**
   * Asks for the right first, whatever a token is limited to, and then for what the right lets see: so a private
   * repository takes the time of a missing one.
   */
  #look({ user, limits, rights, host }: Caller, name: RepositoryName, wanted: Access): MaybePromise<Found> {
    if (user === undefined) return this.#lookAs(host ? 'write' : 'none', name)
    const known = rights?.find(({ repository }) => repository === name.full)
    const right = known ? known.access : this.#right(user, name, wanted)
    return right instanceof Promise
      ? right.then((access) => this.#lookAs(limited(access, limits, name), name))
      : this.#lookAs(limited(right, limits, name), name)
  }

  #right(user: string, name: RepositoryName, wanted: Access): MaybePromise<Access> {
    try {
      const right = this.#dependencies.policy.access(user, name, wanted)
      return right instanceof Promise ? right.catch((error: unknown) => this.#noRight(error, name, user)) : right
    } catch (error) {
      return this.#noRight(error, name, user)
    }
  }

  #noRight(error: unknown, { full: repository }: RepositoryName, user: string): Access {
    // Without its source nothing is known of the right: the caller is asked to come again, and no more is said.
    if (error instanceof StoreUnavailable || error instanceof RightsUnavailable) throw toServiceError(error)
    this.#dependencies.logger.error({ err: error, repository, user }, 'access cannot be determined')
    return 'none'
  }

  #lookAs(access: Access, name: RepositoryName): MaybePromise<Found> {
    try {
      const found = this.#dependencies.repositories.find(name, access === 'none' ? 'public' : undefined)
      return found instanceof Promise
        ? found.then(
            (repository) => withRight(repository, access),
            (error: unknown) => this.#notFound(error, access, name),
          )
        : withRight(found, access)
    } catch (error) {
      return this.#notFound(error, access, name)
    }
  }

  #notFound(error: unknown, access: Access, { full: repository }: RepositoryName): Found {
    // Only who may see the repository learns that there is something wrong with it.
    if (access !== 'none') throw new ServiceError('repository_unreadable', { cause: error })
    this.#dependencies.logger.error({ err: error, repository }, 'the repository cannot be looked up')
    return nothing
  }
}

function limited(access: Access, limits: TokenLimits | undefined, name: RepositoryName): Access {
  return limits ? limitAccess(access, limits, name) : access
}

function withRight(repository: Repository | undefined, access: Access): Found {
  return [repository, access === 'none' && repository?.public ? 'read' : access]
}

function visible(
  { user, host }: Caller,
  name: RepositoryName | undefined,
  needed: Access,
  [repository, access]: Found,
): VisibleRepository {
  if (user === undefined && !host && (needed === 'write' || !repository?.public))
    throw new ServiceError('credentials_missing')
  if (!name || !repository || access === 'none') throw new ServiceError('repository_not_found')
  if (needed === 'write' && access === 'read') throw new ServiceError('write_denied')
  return { name, repository, access }
}

/** What was found under a name, and the right on it. */
type Found = readonly [Repository | undefined, Access]

const nothing: Found = [undefined, 'none']
