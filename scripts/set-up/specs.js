import { statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Arguments for tap, where a folder stands for the specs in it: of folders tap takes only what it has a loader of its
 * own for, and specs come through ours (.taprc).
 * @param {readonly string[]} args
 */
export function withSpecsOf(args) {
  return args.map((arg) => (statSync(arg, { throwIfNoEntry: false })?.isDirectory() ? join(arg, '**/*.test.ts') : arg))
}
