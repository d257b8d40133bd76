import type { MaybeSync } from '../concurrency/maybe-promise.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Refs } from '../git/refs.js'
import { quickStat } from '../git/stat.js'
import { timeOf, UNKNOWN_TIME } from '../http/compatible/formats.js'
import { USUAL_BRANCH } from '../http/compatible/operations.js'
import type { ToldRepository } from './github-bodies.js'

/** What is told of repositories. */
export class ToldRepositories {
  readonly #repositories: MaybeSync<Repositories>
  readonly #refs: Pick<Refs, 'defaultBranch'>

  constructor(repositories: MaybeSync<Repositories>, refs: Pick<Refs, 'defaultBranch'>) {
    this.#repositories = repositories
    this.#refs = refs
  }

  /**
   * A repository as it is now; of one that is gone, its name.
   * @throws Error when that cannot be read
   */
  async of(name: RepositoryName): Promise<ToldRepository> {
    try {
      const repository = await this.#repositories.find(name)
      return repository ? await this.#there(name, repository) : gone(name)
    } catch (cause) {
      throw new Error('the repository cannot be read', { cause })
    }
  }

  async #there(name: RepositoryName, repository: Repository): Promise<ToldRepository> {
    const { birthtimeMs } = await quickStat(repository.directory)
    return {
      found: { name, repository, access: 'read' },
      defaultBranch: (await this.#refs.defaultBranch(repository)) ?? USUAL_BRANCH,
      born: timeOf(birthtimeMs / 1000),
    }
  }
}

function gone(name: RepositoryName): ToldRepository {
  const repository = { directory: '', public: false }
  return { found: { name, repository, access: 'read' }, defaultBranch: USUAL_BRANCH, born: UNKNOWN_TIME }
}
