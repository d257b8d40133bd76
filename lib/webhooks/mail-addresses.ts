import { RefusedAddress } from './address-policy.js'

/** The most that a hook may have. */
const MAX_ADDRESSES = 20

/** Printable ASCII that needs no quotes, and a host. */
const ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d][a-z\d.-]{0,252}$/i

/** Whether a hook has its deliveries mailed. */
export function isMailto(address: string): boolean {
  return /^mailto:/i.test(address)
}

/** Whether a text is the address of somebody to whom, or from whom, a mail can be. */
export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text)
}

/**
 * The addresses of `mailto:alice@example.com,bob@example.com`.
 * @throws RefusedAddress for anything else, a subject behind it as well
 */
export function mailAddresses(url: string): string[] {
  const [, list = ''] = /^mailto:([^?#]+)$/i.exec(url) ?? []
  const addresses = decoded(list).split(',')
  if (addresses.length <= MAX_ADDRESSES && addresses.every(isMailAddress)) return addresses
  throw new RefusedAddress(`the address must be mailto: and up to ${MAX_ADDRESSES} mail addresses, separated by commas`)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
