import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** A look-up, done or under way. */
interface LookUp {
  readonly found: MaybePromise<Repository | undefined>
}

interface UnderWay {
  readonly found: Promise<Repository | undefined>
  /** The one after it, for those who ask while it is under way. */
  next?: Promise<Repository | undefined>
}

/**
 * Repositories whose look-ups are shared by the requests of one turn of the event loop: the more arrive, the more of
 * them share one. Nothing of a turn is known in the next.
 */
export class LookUps implements MaybeSync<Repositories> {
  readonly #all: SharedLookUps
  readonly #public: SharedLookUps

  constructor(repositories: MaybeSync<Repositories>) {
    this.#all = new SharedLookUps((name) => repositories.find(name))
    this.#public = new SharedLookUps((name) => repositories.find(name, 'public'))
  }

  find(name: RepositoryName, only?: 'public'): MaybePromise<Repository | undefined> {
    return (only ? this.#public : this.#all).find(name)
  }
}

type Find = (name: RepositoryName) => MaybePromise<Repository | undefined>

/** Look-ups of one kind. */
class SharedLookUps {
  readonly #look: Find
  readonly #turn = new Map<string, LookUp>()
  /** One for each name at a time. */
  readonly #underWay = new Map<string, UnderWay>()

  constructor(look: Find) {
    this.#look = look
  }

  find(name: RepositoryName): MaybePromise<Repository | undefined> {
    const known = this.#turn.get(name.full)
    if (known) return known.found
    const underWay = this.#underWay.get(name.full)
    if (!underWay) return this.#begin(name)
    const again = (): MaybePromise<Repository | undefined> => this.find(name)
    return (underWay.next ??= underWay.found.then(again, again))
  }

  #begin(name: RepositoryName): MaybePromise<Repository | undefined> {
    const found = this.#look(name)
    if (this.#turn.size === 0) setImmediate(this.#endTurn)
    this.#turn.set(name.full, { found })
    if (found instanceof Promise) {
      const underWay: UnderWay = { found }
      const end = (): void => {
        if (this.#underWay.get(name.full) === underWay) this.#underWay.delete(name.full)
      }
      this.#underWay.set(name.full, underWay)
      found.then(end, end)
    }
    return found
  }

  readonly #endTurn = (): void => {
    this.#turn.clear()
  }
}
