import type { Repository } from '../contracts/repositories.js'
import { GATE_KEYS, namesBy } from '../domain/gate-rule.js'
import { patternMatcher } from '../domain/verdict/pattern.js'
import { readConfiguration } from './configuration.js'
import type { GitProcesses } from './git-process.js'
import type { RefLists } from './ref-lists.js'

/** What the gate asks of a push to a ref, by all of its rules that hold for it. */
export interface GateRule {
  /** Patterns of contexts; none: every one counts. */
  readonly require: readonly string[]
}

/** Reads which refs of bare repositories the gate protects, where `git config` has its rules: scripts/gate.md. */
export class GateRules {
  readonly #git: Pick<GitProcesses, 'run'>
  readonly #refLists: Pick<RefLists, 'of'>

  constructor(git: Pick<GitProcesses, 'run'>, refLists: Pick<RefLists, 'of'>) {
    this.#git = git
    this.#refLists = refLists
  }

  /**
   * @returns what the gate asks of a ref, by its full name; `undefined`: nothing
   * @throws as `RefLists.of`
   */
  async of(repository: Repository): Promise<(ref: string) => GateRule | undefined> {
    const rules = new Map<string, string[]>()
    for (const { subsection, name, value } of await readConfiguration(this.#git, repository.directory, GATE_KEYS)) {
      if (subsection === undefined) continue
      const require = rules.get(subsection) ?? []
      rules.set(subsection, name === 'require' ? [...require, value] : require)
    }
    if (rules.size === 0) return () => undefined
    const matchers = [...rules].map(([pattern, require]) => ({ matches: patternMatcher(pattern), require }))
    const namesOf = namesBy((await this.#refLists.of(repository)).symbolic)
    return (ref) => {
      const names = namesOf(ref)
      const matching = matchers.filter(({ matches }) => names.some(matches))
      return matching.length === 0 ? undefined : { require: [...new Set(matching.flatMap(({ require }) => require))] }
    }
  }
}
