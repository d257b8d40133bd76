import { assemble } from './assemble.js'
import type { CommitStatusService } from './commit-status-service.js'
import type { CommitStatusOptions } from './options.js'

/**
 * Starts a commit status service in this process. For a LevelDB store it opens the socket of the commands in the
 * store's folder, unless `commands` is false.
 * @throws TypeError that names an option which is unknown or of the wrong shape; StartError for a repositories folder
 *   that does not exist, or a libgit2 that is not built; StoreLocked or StoreUnavailable for a store that cannot be
 *   opened
 */
export async function createCommitStatusService(options: CommitStatusOptions): Promise<CommitStatusService> {
  const { service } = await assemble(options)
  return service
}
