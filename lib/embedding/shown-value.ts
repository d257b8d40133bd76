import { schemeOnly } from '../store/address.js'

/** As much of a value as a message shows. */
const CHARACTERS = 200

/** Shows a value of a setting or an option; of what may have been meant for the store, with a password, the scheme. */
export function shownValue(key: string, value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return typeof value
  const text = textOf(value)
  if (key === 'store' || /@|postgres|password/i.test(text))
    return JSON.stringify(schemeOnly(typeof value === 'string' ? value : ''))
  return text.length > CHARACTERS ? `${text.slice(0, CHARACTERS)}…` : text
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'an object' // one that holds itself, for one
  }
}
