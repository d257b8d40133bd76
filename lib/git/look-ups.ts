import type { Eventual, Prompt } from '../parts/eventual.js'
import type { Repositories, Repository } from '../parts/repositories.js'
import type { RepositoryName } from '../repository-name.js'

/** A look-up, done or under way. */
interface LookUp {
  readonly found: Eventual<Repository | undefined>
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
export class LookUps implements Prompt<Repositories> {
  readonly #repositories: Prompt<Repositories>
  readonly #turn = new Map<string, LookUp>()
  /** One for each name at a time. */
  readonly #underWay = new Map<string, UnderWay>()

  constructor(repositories: Prompt<Repositories>) {
    this.#repositories = repositories
  }

  find(name: RepositoryName): Eventual<Repository | undefined> {
    const known = this.#turn.get(name.full)
    if (known) return known.found
    const underWay = this.#underWay.get(name.full)
    if (!underWay) return this.#begin(name)
    const again = (): Eventual<Repository | undefined> => this.find(name)
    return (underWay.next ??= underWay.found.then(again, again))
  }

  #begin(name: RepositoryName): Eventual<Repository | undefined> {
    const found = this.#repositories.find(name)
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
