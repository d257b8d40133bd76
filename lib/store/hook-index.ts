import type { HookRecord, OutboxEntry } from '../contracts/hooks.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { State } from '../domain/commit-status.js'
import { isPushText } from '../domain/push.js'
import { patternMatcher } from '../domain/verdict/pattern.js'

/** A hook and what is to be told it. */
export interface Note {
  readonly hook: string
  readonly subject: string
}

/** A hook that is ready to be asked. */
interface Wanting {
  readonly hook: HookRecord
  readonly coversContext: (context: string) => boolean
}

/** Which hooks a report is for. Most are for none: that costs a look or three. */
export class HookIndex {
  readonly #on = new Map<string, Wanting[]>()

  constructor(hooks: Iterable<HookRecord>) {
    for (const hook of hooks) {
      if (hook.state === 'stopped') continue
      const others = this.#on.get(hook.on) ?? []
      this.#on.set(hook.on, [...others, { hook, coversContext: matcherOf(hook.contexts) }])
    }
  }

  /** What a status is to be noted for, by what can be known of it at once. */
  notes(repository: RepositoryName, sha: string, context: string, state: State): readonly Note[] {
    const notes: Note[] = []
    for (const on of onsOf(repository))
      for (const { hook, coversContext } of this.#on.get(on) ?? []) {
        if (!coversContext(context)) continue
        if (wantsStatus(hook, state)) notes.push({ hook: hook.id, subject: `${sha}/${context}` })
        // Nothing is broken or fixed by what is still to come.
        if (wantsBranches(hook) && state !== 'pending') notes.push({ hook: hook.id, subject: `${sha}/` })
      }
    return notes
  }
}

/** What hooks on a repository are on. */
export function onsOf({ owner, full }: RepositoryName): readonly string[] {
  return [full, `${owner}/*`, '*']
}

/** Whether a text fits one of the patterns, or there are none. */
export function matcherOf(patterns: readonly string[] | undefined): (text: string) => boolean {
  const matchers = patterns?.map(patternMatcher)
  return (text) => matchers?.some((matches) => matches(text)) ?? true
}

/** Whether a hook is told of statuses with this state. */
export function wantsStatus({ events, states }: HookRecord, state: State): boolean {
  return events.includes('status') && (states?.includes(state) ?? true)
}

/** Whether a hook is told what branches come to. */
export function wantsBranches({ events }: HookRecord): boolean {
  return events.includes('broken') || events.includes('fixed')
}

/** What must be told one thing after the other: all of a commit, what branches of a repository come to, or a ref. */
export function laneOf({ repository: { full }, subject }: Pick<OutboxEntry, 'repository' | 'subject'>): string {
  if (isPushText(subject)) return `${full} ${subject.split(' ', 1)[0]}`
  const [sha = '', context] = subject.split('/', 2)
  return context === '' ? full : `${full} ${sha}`
}
