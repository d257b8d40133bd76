import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Which program runs. */
export interface BuildInfo {
  readonly version: string
  /** Of the checkout that was compiled, as git describes it; absent where there was no git. */
  readonly commit?: string
}

/**
 * What the package and its set-up say; of a host that has bundled them into a file of its own, nothing.
 * @param file of `lib/`, compiled or not, or a stand-in for one
 */
export function buildInfo(file: string = import.meta.url): BuildInfo {
  const manifest = textOf(() => readFileSync(createRequire(file).resolve('commit-status-service/package.json'), 'utf8'))
  const version = /"version": *"([^"]*)"/.exec(manifest ?? '')?.[1] ?? 'unknown'
  // scripts/set-up/commit.js writes it beside what was compiled.
  const commit = textOf(() => readFileSync(new URL('../commit', file), 'utf8').trim())
  return { version, ...(commit !== undefined && { commit }) }
}

function textOf(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
