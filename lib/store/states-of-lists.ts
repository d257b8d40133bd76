import { setImmediate } from 'node:timers/promises'
import type { CommitState } from '../domain/commit-status.js'
import type { ObjectId } from '../domain/object-id.js'
import { closing } from '../concurrency/maybe-promise.js'
import type { WholeStatusStore } from '../contracts/store.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { failedContexts } from '../domain/status-list.js'

/** Answers `states` from the lists, one after the other: a request for many must not take the place of many. */
export async function statesOfLists(
  statuses: Pick<WholeStatusStore, 'serialised'>,
  repository: RepositoryName,
  commits: readonly ObjectId[],
  failed: number | undefined,
): Promise<readonly CommitState[]> {
  const states: CommitState[] = []
  for (const commit of commits) {
    const list = await statuses.serialised(repository, commit)
    const { summary } = list
    states.push(
      await closing(list, async () =>
        failed === undefined ? summary : { ...summary, failed: await failedContexts(list, failed) },
      ),
    )
    // A list takes some milliseconds: others have their turn in between.
    if (failed !== undefined && summary.state === 'failure') await setImmediate()
  }
  return states
}
