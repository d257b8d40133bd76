import type { SignIn, SignInBounds, SignInStore } from '../contracts/sign-in-store.js'

/** Links and sessions in the memory of this process: a stop ends them all. */
export class MemorySignIns implements SignInStore {
  /** By digest, those that were kept first in front. */
  readonly #kept = new Map<string, SignIn>()

  add(digest: string, { user, endsAt }: { user: string; endsAt: number }): void {
    this.#kept.set(digest, { kind: 'link', user, endsAt })
  }

  get(digest: string): SignIn | undefined {
    return this.#kept.get(digest)
  }

  exchange(link: string, session: string, endsAt: number): boolean {
    const found = this.#kept.get(link)
    if (found?.kind !== 'link') return false
    this.#kept.delete(link)
    this.#kept.set(session, { kind: 'session', user: found.user, endsAt })
    return true
  }

  remove(digest: string): void {
    this.#kept.delete(digest)
  }

  removeOf(user: string): SignIn[] {
    return this.#remove((signIn) => signIn.user === user)
  }

  makeRoom(kind: SignIn['kind'], user: string, now: number, { ofUser, altogether }: SignInBounds): void {
    this.#remove(({ endsAt }) => !(now < endsAt))
    const all = [...this.#kept].filter(([, signIn]) => signIn.kind === kind)
    const own = all.filter(([, signIn]) => signIn.user === user)
    const surplus = [...firstOf(own, own.length + 1 - ofUser), ...firstOf(all, all.length + 1 - altogether)]
    for (const [digest] of surplus) this.#kept.delete(digest)
  }

  #remove(isOne: (signIn: SignIn) => boolean): SignIn[] {
    const found = [...this.#kept].filter(([, signIn]) => isOne(signIn))
    for (const [digest] of found) this.#kept.delete(digest)
    return found.map(([, signIn]) => signIn)
  }
}

function firstOf<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(0, Math.max(0, count))
}
