import { createHmac } from 'node:crypto'
import { SECRET_PREFIX } from './secrets.js'

/** What a message is signed with: while a secret is rotated, with the one before as well. */
export interface SigningSecrets {
  readonly current: string
  readonly previous?: string
}

/**
 * Signatures of a message, in headers: GitHub's, Gitea's and those of its forks, whose key is the secret as it is
 * printed, and Standard Webhooks', whose key is what the secret is the base64 of. Only the last can say two of them.
 * @param id of the delivery
 * @param seconds since 1970 UTC: when it is sent
 */
export function signatureHeaders(
  { current, previous }: SigningSecrets,
  id: string,
  seconds: number,
  body: Buffer,
): Readonly<Record<string, string>> {
  const hex = createHmac('sha256', current).update(body).digest('hex')
  const signed = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body])
  const secrets = previous === undefined ? [current] : [current, previous]
  return {
    // Buildbot reads no other.
    'X-Hub-Signature': `sha1=${createHmac('sha1', current).update(body).digest('hex')}`,
    'X-Hub-Signature-256': `sha256=${hex}`,
    'X-Gitea-Signature': hex,
    'X-Forgejo-Signature': hex,
    'X-Gogs-Signature': hex,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets
      .map((secret) => `v1,${createHmac('sha256', standardKey(secret)).update(signed).digest('base64')}`)
      .join(' '),
  }
}

/** As its libraries read it. What an admin has given may be no base64: then it stands for itself. */
function standardKey(secret: string): Buffer {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret
  const key = Buffer.from(text, 'base64')
  return key.toString('base64') === text ? key : Buffer.from(secret)
}
