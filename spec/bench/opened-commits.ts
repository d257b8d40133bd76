import { LRUCache } from 'lru-cache'
import git from 'nodegit'

/** As many as the service keeps open. */
const HANDLES = 64

/** By then every look-up in a repository that was let go has come to its end. */
const CLOSED_AFTER_MILLISECONDS = 1_000

/** What the set-up's libgit2 answers in place of a commit (GIT_EEXISTS). */
const IS_COMMIT = -4

/**
 * Confirms commits with libgit2 as it comes: opens, looks up, and remembers.
 * @param bytes of commits that are remembered
 * @returns what gives nothing for a commit that is known
 */
export function openedCommits(bytes: number): (directory: string, id: string) => Promise<void> | undefined {
  const known = new LRUCache<string, true>({ maxSize: bytes, sizeCalculation: (_, key) => 400 + key.length })
  const open = new LRUCache<string, Promise<git.Repository>>({
    max: HANDLES,
    dispose: (repository) =>
      setTimeout(() => void repository.then(async (each) => await each.cleanup()), CLOSED_AFTER_MILLISECONDS).unref(),
  })
  const look = async (key: string, directory: string, id: string): Promise<void> => {
    const repository = open.get(directory) ?? git.Repository.openBare(directory)
    open.set(directory, repository)
    try {
      await git.Commit.lookup(await repository, git.Oid.fromString(id))
    } catch (error) {
      if (!(error instanceof Error && 'errno' in error && error.errno === IS_COMMIT)) throw error
    }
    known.set(key, true)
  }
  return (directory, id) => {
    const key = `${id} ${directory}`
    return known.has(key) ? undefined : look(key, directory, id)
  }
}
