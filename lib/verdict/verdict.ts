import { combinedState, type State, type StoredStatus } from '../commit-status.js'
import { patternMatcher } from './pattern.js'
import type { VerdictRule } from './rule.js'

/** What was required, and what there is of it. */
export interface Requirement {
  /** The pattern, as it was given. */
  readonly require: string
  /** The combined state of all that it matches; `null` when it matches nothing. */
  readonly state: ReturnType<typeof combinedState>
}

/** The answer to one question: is what is required there? */
export interface Verdict {
  readonly verdict: 'failure' | 'pending' | 'success'
  /** In the order of the rule; empty when every context counts. */
  readonly required: readonly Requirement[]
}

/** The states of what a pattern matches, a status after the other. */
interface Tally {
  readonly require: string
  readonly matches: (context: string) => boolean
  readonly states: Set<State>
}

/**
 * The one place that judges: what the API, a wait, the gate and the library say of a commit comes from here. It takes
 * statuses one after the other and keeps none of them.
 */
export class Evaluation {
  readonly #rule: VerdictRule
  readonly #now: number
  readonly #required: readonly Tally[]
  readonly #all = new Set<State>()
  #changesAt = Infinity

  /** @param now milliseconds since 1970 UTC */
  constructor(rule: VerdictRule, now: number) {
    this.#rule = rule
    this.#now = now
    this.#required = rule.require.map((require) => ({
      require,
      matches: patternMatcher(require),
      states: new Set<State>(),
    }))
  }

  /** When what is pending by now counts as failed, in milliseconds since 1970 UTC; `Infinity`: never. */
  get changesAt(): number {
    return this.#changesAt
  }

  add(status: Pick<StoredStatus, 'context' | 'state' | 'updated_at' | 'reporter'>): void {
    const { by } = this.#rule
    if (by && (!status.reporter || !by.includes(status.reporter.user))) return
    const counting = this.#required.filter(({ matches }) => matches(status.context))
    if (this.#required.length > 0 && counting.length === 0) return
    const state = this.#stateOf(status)
    this.#all.add(state)
    for (const { states } of counting) states.add(state)
  }

  verdict(): Verdict {
    const required = this.#required.map(({ require, states }) => ({ require, state: combinedState([...states]) }))
    const states = required.length > 0 ? required.map(({ state }) => state) : [combinedState([...this.#all])]
    const verdict = states.includes('failure')
      ? 'failure'
      : states.includes('pending') || states.includes(null)
        ? 'pending'
        : 'success'
    return { verdict, required }
  }

  #stateOf({ state, updated_at }: Pick<StoredStatus, 'state' | 'updated_at'>): State {
    const { staleMilliseconds } = this.#rule
    if (state !== 'pending' || staleMilliseconds === undefined) return state
    const failsAt = Date.parse(updated_at) + staleMilliseconds + 1
    if (failsAt <= this.#now) return 'failure'
    this.#changesAt = Math.min(this.#changesAt, failsAt)
    return state
  }
}
