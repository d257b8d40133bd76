import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../contracts/clock.js'
import type { KnownRight } from '../contracts/access-policy.js'
import type { FoundSignIn, SignIn, SignInStore } from '../contracts/sign-in-store.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { knownRight } from './grants.js'

/** How long a link is good, and a session. */
export const LINK_MILLISECONDS = 10 * 60 * 1000
export const SESSION_MILLISECONDS = 8 * 60 * 60 * 1000

/** Past these, the oldest ends: of the same user first, so that nobody ends those of others by asking for many. */
const LINK_BOUNDS = { ofUser: 10, altogether: 1_000 }
const SESSION_BOUNDS = { ofUser: 100, altogether: 10_000 }

const RANDOM_BYTES = 24

/** What a link or a session is opened with: nothing else is worth a look-up. */
const CODE = /^[\w-]{32}$/

/** Whose session it is. */
export interface SessionUser {
  readonly user: string
  readonly rights?: readonly KnownRight[]
}

/** Links that sign a user in, each once, and the sessions that come of them. What opens them is kept nowhere. */
export class Sessions {
  readonly #store: SignInStore
  readonly #clock: Clock

  constructor(store: SignInStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** @returns what opens a session, once, within ten minutes */
  async createLink(user: string): Promise<{ code: string; expiresAt: number }> {
    const now = this.#clock.now()
    const [code, expiresAt] = [newCode(), now + LINK_MILLISECONDS]
    await this.#store.makeRoom('link', user, now, LINK_BOUNDS)
    await this.#store.add(digestOf(code), { user, endsAt: expiresAt })
    return { code, expiresAt }
  }

  /** Whom a link is for; it stays good. */
  async linkUser(code: string): Promise<string | undefined> {
    return (await this.#find('link', code))?.user
  }

  /** Opens a session with a link, which is good no more. Its secret is new: nobody can have known it before. */
  async open(code: string): Promise<{ session: string; user: string } | undefined> {
    const user = await this.linkUser(code)
    if (user === undefined) return undefined
    const now = this.#clock.now()
    const session = newCode()
    await this.#store.makeRoom('session', user, now, SESSION_BOUNDS)
    const isOpen = await this.#store.exchange(digestOf(code), digestOf(session), now + SESSION_MILLISECONDS)
    return isOpen ? { session, user } : undefined
  }

  /**
   * Who has a session.
   * @param repository on which grants decide: the right there is told where it is found in the same go
   */
  async find(session: string, repository?: RepositoryName): Promise<SessionUser | undefined> {
    const found = await this.#find('session', session, repository)
    if (!found) return undefined
    const { user, granted } = found
    return { user, ...(repository && granted && { rights: [knownRight(user, repository, granted)] }) }
  }

  async end(session: string): Promise<void> {
    if (CODE.test(session)) await this.#store.remove(digestOf(session))
  }

  /** Ends every session and link of a user. @returns how many there were */
  async endAll(user: string): Promise<number> {
    return (await this.#store.removeOf(user)).filter((signIn) => this.#isGood(signIn)).length
  }

  async #find(kind: SignIn['kind'], code: string, repository?: RepositoryName): Promise<FoundSignIn | undefined> {
    if (!CODE.test(code)) return undefined
    const found = await this.#store.get(digestOf(code), repository)
    return found?.kind === kind && this.#isGood(found) ? found : undefined
  }

  #isGood({ endsAt }: SignIn): boolean {
    // Not `now >= …`: of a clock that returns no time, that would make a session without an end.
    return this.#clock.now() < endsAt
  }
}

function newCode(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

function digestOf(code: string): string {
  return hash('sha256', code, 'hex')
}
