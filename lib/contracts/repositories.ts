import type { RepositoryName } from '../domain/repository-name.js'

/** A repository of the git server, as it stands at the moment. */
export interface Repository {
  /** Absolute path of the bare repository. */
  readonly directory: string
  /** Whether everybody may read it. */
  readonly public: boolean
  /** Where the git server has it, below its address: `alice/hello.git`. Without it: its name, and `.git`. */
  readonly path?: string
  /**
   * Identifies this incarnation of the directory (device, inode, time of birth): the cache key for what was read from
   * it. Without it nothing is cached.
   */
  readonly identity?: string
}

/** Where the repositories are. Replaceable by a host that stores them in another way. */
export interface Repositories {
  /**
   * Looks a repository up, as it is at that turn of the event loop.
   * @param only `public`: whoever asks may see no other, so a private one may be reported as missing, and must take the
   *   time of a missing one
   * @returns `undefined` when there is none of this name
   * @throws any error when that cannot be determined
   */
  find(name: RepositoryName, only?: 'public'): Promise<Repository | undefined>
}
