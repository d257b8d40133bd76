import { readFileSync } from 'node:fs'

/**
 * The members of an object in a JSON file.
 * @param {string} file
 * @param {string} [key] of a member that is an object: its members, then
 * @returns {Record<string, unknown>}
 */
export function readJson(file, key) {
  /** @type {unknown} */
  const value = JSON.parse(readFileSync(file, 'utf8'))
  return members(key === undefined ? value : members(value)[key])
}

/** @returns {Record<string, unknown>} */
export function members(/** @type {unknown} */ value) {
  if (typeof value !== 'object' || value === null) throw new TypeError(`not an object: ${String(value)}`)
  return { ...value }
}
