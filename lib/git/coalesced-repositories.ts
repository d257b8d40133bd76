import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** A look-up, done or under way. */
interface LookUp {
  readonly found: MaybePromise<Repository | undefined>
}

interface Pending {
  readonly found: Promise<Repository | undefined>
  /** The one after it, for those who ask while it is under way. */
  next?: Promise<Repository | undefined>
}

/**
 * Repositories whose look-ups are shared by the requests of one turn of the event loop: the more arrive, the more of
 * them share one. Nothing of a turn is known in the next.
 */
export class CoalescedRepositories implements MaybeSync<Repositories> {
  readonly #all: PerTickCache
  readonly #public: PerTickCache

  constructor(repositories: MaybeSync<Repositories>) {
    this.#all = new PerTickCache((name) => repositories.find(name))
    this.#public = new PerTickCache((name) => repositories.find(name, 'public'))
  }

  find(name: RepositoryName, only?: 'public'): MaybePromise<Repository | undefined> {
    return (only ? this.#public : this.#all).find(name)
  }
}

type Find = (name: RepositoryName) => MaybePromise<Repository | undefined>

/** Look-ups of one kind. */
class PerTickCache {
  readonly #look: Find
  readonly #thisTick = new Map<string, LookUp>()
  /** One for each name at a time. */
  readonly #pending = new Map<string, Pending>()

  constructor(look: Find) {
    this.#look = look
  }

  find(name: RepositoryName): MaybePromise<Repository | undefined> {
    const known = this.#thisTick.get(name.full)
    if (known) return known.found
    const underWay = this.#pending.get(name.full)
    if (!underWay) return this.#begin(name)
    const again = (): MaybePromise<Repository | undefined> => this.find(name)
    return (underWay.next ??= underWay.found.then(again, again))
  }

  #begin(name: RepositoryName): MaybePromise<Repository | undefined> {
    const found = this.#look(name)
    if (this.#thisTick.size === 0) setImmediate(this.#endTick)
    this.#thisTick.set(name.full, { found })
    if (found instanceof Promise) {
      const underWay: Pending = { found }
      const end = (): void => {
        if (this.#pending.get(name.full) === underWay) this.#pending.delete(name.full)
      }
      this.#pending.set(name.full, underWay)
      found.then(end, end)
    }
    return found
  }

  readonly #endTick = (): void => {
    this.#thisTick.clear()
  }
}
