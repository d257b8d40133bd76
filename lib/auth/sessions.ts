import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../contracts/clock.js'

/** How long a link is good, and a session. */
export const LINK_MILLISECONDS = 10 * 60 * 1000
export const SESSION_MILLISECONDS = 8 * 60 * 60 * 1000

/** Of each at once; past that, the one that was used least recently ends. */
const MAX_LINKS = 1000
const MAX_SESSIONS = 10_000

interface Entry {
  readonly user: string
  readonly endsAt: number
}

/**
 * Links that sign a user in, each once, and the sessions that come of them. They are in this process's memory alone, as
 * digests: a stop ends them all.
 */
export class Sessions {
  readonly #clock: Clock
  readonly #links = new LRUCache<string, Entry>({ max: MAX_LINKS })
  readonly #sessions = new LRUCache<string, Entry>({ max: MAX_SESSIONS })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns what opens a session, once, within ten minutes */
  createLink(user: string): { code: string; expiresAt: number } {
    return this.#create(this.#links, user, LINK_MILLISECONDS)
  }

  /** Whom a link is for; it stays good. */
  linkUser(code: string): string | undefined {
    return this.#userOf(this.#links, code)
  }

  /** Opens a session with a link, which is good no more. Its secret is new: nobody can have known it before. */
  open(code: string): { session: string; user: string } | undefined {
    const user = this.#userOf(this.#links, code)
    if (user === undefined) return undefined
    this.#links.delete(digestOf(code))
    return { session: this.#create(this.#sessions, user, SESSION_MILLISECONDS).code, user }
  }

  /** Who has a session. */
  userOf(session: string): string | undefined {
    return this.#userOf(this.#sessions, session)
  }

  end(session: string): void {
    this.#sessions.delete(digestOf(session))
  }

  /** Ends every session and link of a user. @returns how many there were */
  endAll(user: string): number {
    let ended = 0
    for (const entries of [this.#links, this.#sessions]) {
      for (const [digest, entry] of [...entries]) {
        if (entry.user !== user) continue
        entries.delete(digest)
        if (this.#clock.now() < entry.endsAt) ended++
      }
    }
    return ended
  }

  #create(entries: LRUCache<string, Entry>, user: string, milliseconds: number): { code: string; expiresAt: number } {
    const code = randomBytes(24).toString('base64url')
    const expiresAt = this.#clock.now() + milliseconds
    entries.set(digestOf(code), { user, endsAt: expiresAt })
    return { code, expiresAt }
  }

  #userOf(entries: LRUCache<string, Entry>, code: string): string | undefined {
    const digest = digestOf(code)
    const found = entries.get(digest)
    if (!found) return undefined
    // Not `now >= …`: of a clock that returns no time, that would make a session without an end.
    if (this.#clock.now() < found.endsAt) return found.user
    entries.delete(digest)
    return undefined
  }
}

function digestOf(code: string): string {
  return hash('sha256', code, 'hex')
}
