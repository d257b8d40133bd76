import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Which program runs. */
export interface BuildInfo {
  readonly version: string
  /** Of the checkout that was compiled, as git describes it; absent where there was no git. */
  readonly commit?: string
}

/** What the package and its set-up say; of a host that has bundled them into a file of its own, nothing. */
export function buildInfo(): BuildInfo {
  const manifest = told(() => createRequire(import.meta.url).resolve('commit-status-service/package.json')) ?? ''
  const [, version = 'unknown'] = /"version": *"([^"]*)"/.exec(told(() => readFileSync(manifest, 'utf8')) ?? '') ?? []
  // scripts/set-up/compile.js writes it beside what it compiles.
  const commit = told(() => readFileSync(new URL('../commit', import.meta.url), 'utf8').trim())
  return { version, ...(commit !== undefined && { commit }) }
}

function told(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
