import type { ObjectId } from '../domain/object-id.js'
import { ServiceError } from '../errors.js'

/** Confirms commits in bare repositories. */
export interface Commits {
  /**
   * Whether `id` names a commit of the repository. A pushed commit is seen at once, a repository that was deleted or
   * replaced within a second; trees, blobs, annotated tags and ids of the other object format are no commits, and
   * the cost does not grow with the size of what an id names.
   * @param directory absolute path of a bare repository
   * @param identity of the repository, where it is known: of what was there under another one, nothing is seen
   * @throws RepositoryUnreadable when it cannot be determined; never `false` instead
   */
  has(directory: string, id: ObjectId, identity?: string): Promise<boolean>

  /** Forgets what it holds open: whatever was moved or removed before this call is seen by every look-up after it. */
  forget(): void

  /** Lets go of every open file; look-ups under way are finished first. */
  close(): void
}

/** The repository is there, but cannot be read: corrupt, half-written, of an unknown kind, or no permission. */
export class RepositoryUnreadable extends Error {
  override readonly name: string = 'RepositoryUnreadable'

  constructor(directory: string, cause: unknown) {
    super(`cannot read ${directory}`, { cause })
  }
}

/** The installed git does not know the format of the repository: that does not pass by itself. */
export class RepositoryFormatUnknown extends RepositoryUnreadable {
  override readonly name = 'RepositoryFormatUnknown'
}

/** How long a client is asked to wait for an admin to install another git. */
const INSTALL_SECONDS = 3600

/** Makes 503 of a repository that cannot be read: it may be one that is being replaced. Passes on what else fails. */
export function unreadableError(cause: unknown): unknown {
  if (!(cause instanceof RepositoryUnreadable)) return cause
  const text = 'the git of this service cannot read this kind of repository: it may take a later one'
  const more = cause instanceof RepositoryFormatUnknown && { text, retryAfter: INSTALL_SECONDS }
  return new ServiceError('repository_unreadable', { cause, ...more })
}
