import { createHash } from 'node:crypto'

/**
 * A short name for exactly these values: equal values, equal name.
 * @param {unknown} values anything that JSON can express
 */
export function fingerprint(values) {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 32)
}
