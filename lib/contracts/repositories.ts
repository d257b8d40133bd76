import type { RepositoryName } from '../domain/repository-name.js'

/** A repository of the git server, as it stands at the moment. */
export interface Repository {
  /** Absolute path of the bare repository. */
  readonly directory: string
  /** Whether everybody may read it. */
  readonly public: boolean
  /**
   * Another one for every directory that ever was: lets what was read of the repository be remembered. Absent: nothing
   * is.
   */
  readonly identity?: string
}

/** Where the repositories are. Replaceable by a host that stores them in another way. */
export interface Repositories {
  /**
   * Looks a repository up, as it is at that turn of the event loop.
   * @param only `public`: whoever asks may see no other, so a private one may be told as missing, and must take the
   *   time of a missing one
   * @returns `undefined` when there is none of this name
   * @throws any error when that cannot be determined
   */
  find(name: RepositoryName, only?: 'public'): Promise<Repository | undefined>
}
