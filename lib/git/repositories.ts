import type { RepositoryName } from '../repository-name.js'

/** A repository of the git server, as it stands at the moment. */
export interface Repository {
  /** Absolute path of the bare repository. */
  readonly directory: string
  /** Whether everybody may read it. */
  readonly public: boolean
}

/** Where the repositories are. Replaceable by a host that stores them in another way. */
export interface Repositories {
  /**
   * Looks a repository up, freshly at every call, and takes the same time whether it exists or not.
   * @returns `undefined` when there is none of this name
   * @throws any error when that cannot be determined
   */
  find(name: RepositoryName): Promise<Repository | undefined>
}
