import type { ObjectId } from '../domain/object-id.js'
import type { Repository } from '../contracts/repositories.js'
import type { PageContext } from './context.js'

/** What is shown of a repository where no ref is asked for. */
export interface ShownBranch {
  /** `undefined` where HEAD names none. */
  readonly branch: string | undefined
  /** Its latest commit; absent where there is no commit at all. */
  readonly start?: ObjectId
}

/** The branch that HEAD names, or where that has no commit yet, the first one. */
export async function defaultBranch(
  { refs, refLists, lists }: Pick<PageContext, 'refs' | 'refLists' | 'lists'>,
  repository: Repository,
): Promise<ShownBranch> {
  const commitOf = async (name: string): Promise<ObjectId | undefined> => {
    const found = await refs.resolve(repository, name)
    return found && (await lists.hasCommit(repository, found)) ? found : undefined
  }
  const [branch, head] = await Promise.all([refs.defaultBranch(repository), commitOf('HEAD')])
  if (head) return { branch, start: head }
  const [first] = await refLists.branches(repository)
  const start = first && (await commitOf(`refs/heads/${first.name}`))
  return first && start ? { branch: first.name, start } : { branch }
}
