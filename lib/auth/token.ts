import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** 160 random bits: nobody guesses one, so a plain SHA-256 of it is safe at rest. */
const RANDOM_BYTES = 20
const RANDOM_DIGITS = RANDOM_BYTES * 2
const CHECKSUM_DIGITS = 8

/** What a token is known by; the token itself is shown once and kept nowhere. */
export interface TokenDigest {
  /** Names the token in lists: the beginning of its digest. */
  readonly id: string
  /** SHA-256, hex. */
  readonly digest: string
}

/**
 * Makes a token: `<prefix>_`, 40 random hex digits and 8 of a checksum.
 * @param prefix says which service a token is for, to people and to secret scanners
 */
export function makeToken(prefix: string): string {
  const random = `${prefix}_${randomBytes(RANDOM_BYTES).toString('hex')}`
  return random + checksum(random)
}

/**
 * What a token is looked up by.
 * @returns `undefined` for a text that cannot be a token of this prefix: mistyped, cut off or of another service.
 *   No look-up is needed to refuse those.
 */
export function digestToken(prefix: string, token: string): TokenDigest | undefined {
  if (token.length !== prefix.length + 1 + RANDOM_DIGITS + CHECKSUM_DIGITS || !token.startsWith(`${prefix}_`))
    return undefined
  const random = token.slice(0, -CHECKSUM_DIGITS)
  if (token.slice(-CHECKSUM_DIGITS) !== checksum(random)) return undefined
  return tokenDigest(token)
}

/** What any text is known by that may be a token. */
export function tokenDigest(token: string): TokenDigest {
  const digest = hash('sha256', token, 'hex')
  return { id: digest.slice(0, 12), digest }
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(CHECKSUM_DIGITS, '0')
}
