/** What git's configuration says of the gate. */
export interface GateEntry {
  readonly key: string
  /** Of the refs that a rule is for; absent of a setting. */
  readonly pattern?: string
  /** In lower case, as git prints it. */
  readonly name: string
  readonly value: string
}

/** Symbolic refs (`refs/heads/master` for `main`), each with the ref that it leads to at the end. */
export type SymbolicRefs = ReadonlyMap<string, string>

/** What git is asked for. */
export const GATE_ENTRIES = ['config', '--null', '--includes', '--get-regexp', '^commit-status\\.'] as const

/** Takes apart what git prints of them. */
export function gateEntries(output: string): GateEntry[] {
  return output
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n')
      // Without a value it is one that is set.
      const [key, value] = end === -1 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)]
      const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')]
      return { key, ...(first < last && { pattern: key.slice(first + 1, last) }), name: key.slice(last + 1), value }
    })
}

/**
 * Finds all names of the place that a ref names: it may be a symbolic one, or have some that lead to it. Rules for any
 * of them hold.
 */
export function namesBy(symbolic: SymbolicRefs): (ref: string) => readonly string[] {
  const leading = new Map<string, string[]>()
  for (const [name, end] of symbolic) leading.set(end, [...(leading.get(end) ?? []), name])
  return (ref) => {
    const end = symbolic.get(ref) ?? ref
    // Whoever pushes to a namespace does not see it, nor do rules name it.
    return [ref, end, ...(leading.get(end) ?? [])].flatMap((name) => [
      name,
      name.replace(/^(?:refs\/namespaces\/[^/]+\/)+(?=refs\/)/, ''),
    ])
  }
}
