import { hash } from 'node:crypto'

/** The entity tag of what is sent, or of what it is made from: 132 bits of SHA-256. */
export function digestOf(content: string | Buffer): string {
  return hash('sha256', content, 'base64url').slice(0, 22)
}
