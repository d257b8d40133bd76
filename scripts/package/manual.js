import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Pages of the manual, each with its section. */
const PAGES = new Map([
  ['commit-status.1', 1],
  ['commit-status.json.5', 5],
])

/** What each shell looks for in its own folder. */
const COMPLETIONS = new Map([
  ['bash', 'commit-status'],
  ['zsh', '_commit-status'],
  ['fish', 'commit-status.fish'],
])

/**
 * The manual and the completions, which the program makes itself.
 * @param {import('./tree.js').Tree} tree
 * @param {Readonly<Record<string, string>>} folders where completions go, by shell
 * @returns {[file: string, text: string][]} below `share`
 */
export function manual({ folder }, folders) {
  const made = (/** @type {string[]} */ ...args) =>
    execFileSync(join(folder, 'scripts/commit-status'), args, {
      encoding: 'utf8',
      env: { ...process.env, COMMIT_STATUS_CONFIG: '' },
    })
  /** @type {[string, string][]} */
  const pages = [...PAGES].map(([page, section]) => [`man/man${section}/${page}`, made('manual', page)])
  /** @type {[string, string][]} */
  const completions = [...COMPLETIONS].map(([shell, file]) => [
    `${String(folders[shell])}/${file}`,
    made('completion', shell),
  ])
  return [...pages, ...completions]
}
