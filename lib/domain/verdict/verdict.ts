import { combinedState, type State, type StoredStatus } from '../commit-status.js'
import { HOST_USER } from '../repository-name.js'
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
  /**
   * Why it is pending where `by` is given, in sentences for people: what somebody else reported last, and that the
   * commit is full. At most 22; absent where there is nothing of the kind.
   */
  readonly reasons?: readonly string[]
}

/** Reports of others that `reasons` names; the rest is counted. */
const MAX_NAMED = 20

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
export class VerdictBuilder {
  readonly #rule: VerdictRule
  readonly #now: number
  readonly #maxContexts: number
  readonly #required: readonly Tally[]
  readonly #all = new Set<State>()
  readonly #byOthers: string[] = []
  #othersCount = 0
  #contexts = 0
  #expiresAt = Infinity

  /**
   * @param now milliseconds since 1970 UTC
   * @param maxContexts how many contexts a commit may have: the report of one more was refused
   */
  constructor(rule: VerdictRule, now: number, maxContexts = Infinity) {
    this.#rule = rule
    this.#now = now
    this.#maxContexts = maxContexts
    this.#required = rule.require.map((require) => ({
      require,
      matches: patternMatcher(require),
      states: new Set<State>(),
    }))
  }

  /** When what is pending by now counts as failed, in milliseconds since 1970 UTC; `Infinity`: never. */
  get expiresAt(): number {
    return this.#expiresAt
  }

  add(status: Pick<StoredStatus, 'context' | 'state' | 'updated_at' | 'reporter'>): void {
    this.#contexts++
    const counting = this.#required.filter(({ matches }) => matches(status.context))
    if (this.#required.length > 0 && counting.length === 0) return
    const state = this.#isByOther(status) ? 'pending' : this.#stateOf(status)
    this.#all.add(state)
    for (const { states } of counting) states.add(state)
  }

  verdict(): Verdict {
    const { by } = this.#rule
    const isFull = by !== undefined && this.#contexts >= this.#maxContexts
    const stateOf = (states: ReadonlySet<State>, isOpen: boolean) =>
      combinedState(isFull && isOpen ? [...states, 'pending'] : [...states])
    const required = this.#required.map(({ require, states }) => ({
      require,
      state: stateOf(states, require.includes('*')),
    }))
    const states = required.length > 0 ? required.map(({ state }) => state) : [stateOf(this.#all, true)]
    const verdict = states.includes('failure')
      ? 'failure'
      : states.includes('pending') || states.includes(null)
        ? 'pending'
        : 'success'
    const isOpen = required.length === 0 || required.some(({ require }) => require.includes('*'))
    const reasons = this.#reasons(isFull && isOpen)
    return { verdict, required, ...(reasons.length > 0 && { reasons }) }
  }

  /**
   * Whether somebody else reported it last than who is asked about. What these had said before is lost with that: it
   * may have been a failure, so it counts as still to come.
   */
  #isByOther({ context, reporter }: Pick<StoredStatus, 'context' | 'reporter'>): boolean {
    const { by } = this.#rule
    // A status of before nobody could be called so: the host's own has no token.
    const isGenuine = reporter?.user !== HOST_USER || reporter.token === null
    if (!by || (reporter && isGenuine && by.includes(reporter.user))) return false
    this.#othersCount++
    if (this.#byOthers.length < MAX_NAMED)
      this.#byOthers.push(
        `${context} was reported last by ${reporter?.user ?? 'an unknown user'}, not by ${by.join(' or ')}`,
      )
    return true
  }

  #reasons(isFull: boolean): string[] {
    const more = this.#othersCount - this.#byOthers.length
    return [
      ...(isFull
        ? [`the commit has ${this.#contexts} contexts, as many as it may: another report may have been refused`]
        : []),
      ...this.#byOthers,
      ...(more > 0 ? [`${more} more contexts were reported last by others`] : []),
    ]
  }

  #stateOf({ state, updated_at }: Pick<StoredStatus, 'state' | 'updated_at'>): State {
    const { staleMilliseconds } = this.#rule
    if (state !== 'pending' || staleMilliseconds === undefined) return state
    const failsAt = Date.parse(updated_at) + staleMilliseconds + 1
    if (failsAt <= this.#now) return 'failure'
    this.#expiresAt = Math.min(this.#expiresAt, failsAt)
    return state
  }
}
