import type { Logger } from '../contracts/logger.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import { skippedText } from '../git/repository-listing.js'

/** Says what lies in the folder as if it were a repository and is not served. */
export async function warnOfSkipped(folder: RepositoryFolder, logger: Logger): Promise<void> {
  try {
    const { skipped } = await folder.listing(() => undefined)
    if (skipped.length > 0) logger.warn({ folder: folder.path }, skippedText(skipped))
  } catch (error) {
    logger.warn({ err: error, folder: folder.path }, 'the repositories cannot be listed')
  }
}
