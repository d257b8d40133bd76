import { LRUCache } from 'lru-cache'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'
import type { Ref } from './ref-list.js'

/** Pairs of commits that are remembered. */
const MAX_KNOWN = 10_000

/** How long it is remembered that a branch is not: git may have taken seconds to find out, or not have found out. */
const OTHER_MILLISECONDS = 60_000

/** Finds which branches are merged, through the installed git. */
export class MergedBranches {
  readonly #git: Pick<GitProcesses, 'read'>
  /** By the ids of two commits: what is merged stays so. */
  readonly #known = new LRUCache<string, boolean>({ max: MAX_KNOWN })

  constructor(git: Pick<GitProcesses, 'read'>) {
    this.#git = git
  }

  /**
   * @param directory absolute path of a bare repository
   * @param base id of a commit in it
   * @returns whether a branch is of an ancestor of that commit; `false` of the commit itself, and where git cannot say
   *   in time
   * @throws ServiceError `overloaded`
   */
  async into(directory: string, base: string, branches: readonly Ref[]): Promise<(branch: Ref) => boolean> {
    const keyOf = ({ id }: Ref): string => `${id} ${base}`
    const others = branches.filter(({ id }) => id !== base)
    const merged = new Set(others.filter((branch) => this.#known.get(keyOf(branch))).map(({ id }) => id))
    const unknown = others.filter((branch) => !this.#known.has(keyOf(branch)))
    if (unknown.length > 0) {
      const found = await this.#ask(directory, base, unknown)
      for (const branch of unknown) {
        const isMerged = found.has(branch.id)
        this.#known.set(keyOf(branch), isMerged, isMerged ? {} : { ttl: OTHER_MILLISECONDS })
        if (isMerged) merged.add(branch.id)
      }
    }
    return ({ id }) => merged.has(id)
  }

  async #ask(directory: string, base: string, branches: readonly Ref[]): Promise<ReadonlySet<string>> {
    let output = ''
    const take = (chunk: Buffer): undefined => {
      output += chunk.toString('latin1')
    }
    const args = [`--merged=${base}`, '--format=%(objectname)', ...branches.map(({ name }) => name)]
    try {
      const { code } = await this.#git.read(directory, ['for-each-ref', ...args], take, { mayTakeLong: true })
      return new Set(code === 0 ? output.split('\n') : [])
    } catch (error) {
      if (error instanceof RepositoryUnreadable) return new Set()
      throw error
    }
  }
}
