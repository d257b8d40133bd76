import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `commit-status 0.2.0 (1234567)`: the version of the package, and the commit where it is a checkout. */
export function versionText(): string {
  const path = fileURLToPath(import.meta.resolve('commit-status-service/package.json'))
  const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
  const version = typeof content === 'object' && content && 'version' in content ? String(content.version) : 'unknown'
  const commit = commitOf(dirname(path))
  return `commit-status ${version}${commit === undefined ? '' : ` (${commit})`}`
}

function commitOf(folder: string): string | undefined {
  try {
    const args = [`--git-dir=${join(folder, '.git')}`, 'rev-parse', '--short', 'HEAD']
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
