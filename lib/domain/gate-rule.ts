/** Symbolic refs (`refs/heads/master` for `main`), each with the ref that it leads to at the end. */
export type SymbolicRefs = ReadonlyMap<string, string>

/** The keys of the gate in git's configuration, as a regular expression of `git config`. */
export const GATE_KEYS = String.raw`^commit-status\.`

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
