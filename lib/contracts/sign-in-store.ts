import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Grant } from './records.js'

/** A link that signs a user in, or the session that comes of it. */
export interface SignIn {
  readonly kind: 'link' | 'session'
  readonly user: string
  /** Milliseconds since 1970 UTC. */
  readonly endsAt: number
}

export interface FoundSignIn extends SignIn {
  /** What grants give its user on the repository; absent where nobody knows. */
  readonly granted?: readonly Pick<Grant, 'access'>[]
}

/** How many of a kind there may be. */
export interface SignInBounds {
  readonly ofUser: number
  readonly altogether: number
}

/**
 * Where links and sessions are kept, by the digests of what opens them. It judges nothing: whether one is over is for
 * who asks. What a call has resolved for is seen by every later call, of any instance that shares the store.
 */
export interface SignInStore {
  /** Keeps a link; its digest is new. */
  add(digest: string, link: { readonly user: string; readonly endsAt: number }): MaybePromise<void>

  /** @param repository whose grants are read in the same go, where they are kept beside */
  get(digest: string, repository?: RepositoryName): MaybePromise<FoundSignIn | undefined>

  /**
   * Makes a session of a link, which is gone then: for one of all who ask at once. What was removed meanwhile is made
   * none of.
   * @param session its digest, which is new
   * @returns whether there was such a link
   */
  exchange(link: string, session: string, endsAt: number): MaybePromise<boolean>

  remove(digest: string): MaybePromise<void>

  /** Removes all that a user has. @returns what it was */
  removeOf(user: string): MaybePromise<readonly SignIn[]>

  /**
   * Makes room for one more of a kind: removes whatever is over, and the oldest above the bounds.
   * @param now milliseconds since 1970 UTC
   */
  makeRoom(kind: SignIn['kind'], user: string, now: number, bounds: SignInBounds): MaybePromise<void>
}
