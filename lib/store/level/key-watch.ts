/** Notes which keys of a repository change while something is made ready outside the writer's turn. */
export class KeyWatch {
  readonly changed = new Set<string>()
  /** Why it cannot be told any more. */
  invalidReason: string | undefined
  readonly #prefixes: readonly string[]

  /** @param prefixes of the keys that matter */
  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes
  }

  covers(key: string): boolean {
    return this.#prefixes.some((prefix) => key.startsWith(prefix))
  }
}
