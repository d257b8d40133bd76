import { createHmac, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { AdministrationError } from '../../lib/errors.js'
import { DerivedSecrets } from '../../lib/webhooks/secrets.js'
import { signatureHeaders } from '../../lib/webhooks/signatures.js'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const body = Buffer.from('{"state": "success", "description": "Grüße ✓"}')
const id = randomUUID()
const now = () => Math.floor(Date.now() / 1000)

/** Whether a receiver that knows a secret takes what was signed: as Standard Webhooks, as GitHub, and as Gitea. */
const taken = async (secret: string, headers: Readonly<Record<string, string>>, text = body.toString()) => {
  let isStandard = true
  try {
    new Webhook(secret).verify(text, headers)
  } catch {
    isStandard = false
  }
  const isGitHub = await verify(secret, text, String(headers['X-Hub-Signature-256']))
  const hex = createHmac('sha256', secret).update(text).digest('hex')
  return [isStandard, isGitHub, ...['Gitea', 'Forgejo', 'Gogs'].map((name) => headers[`X-${name}-Signature`] === hex)]
}

const yes = [true, true, true, true, true]
const no = [false, false, false, false, false]

t.test('Each scheme is signed with the key as it reads it', async (t) => {
  const { current } = new DerivedSecrets(join(t.testdir(), 'key')).of({ id: 'h1', secret: { generation: 0 } }, 0)
  t.match(current, /^whsec_[\w+/]{43}=$/)
  const headers = signatureHeaders({ current }, id, now(), body)
  t.strictSame(await taken(current, headers), yes)
  t.strictSame(await taken(current, headers, `${body.toString()} `), no, 'another body')
  t.strictSame(await taken(`whsec_${'A'.repeat(43)}=`, headers), no, 'another secret')
  t.equal(headers['X-Hub-Signature'], `sha1=${createHmac('sha1', current).update(body).digest('hex')}`)
  t.match(headers, { 'webhook-id': id, 'webhook-timestamp': /^\d{10}$/ })
  const early = signatureHeaders({ current }, id, now() - 600, body)
  t.strictSame(
    await taken(current, early),
    [false, true, true, true, true],
    'an old one is refused, if it is looked at',
  )
})

t.test('A secret that the receiver dictates is read in its ways', async (t) => {
  const secrets = new DerivedSecrets('/nowhere/at/all/key')
  const sign = (given: string) => {
    const { current, previous } = secrets.of({ id: 'h1', secret: { given } }, 0)
    t.strictSame([current, previous], [given, undefined])
    return signatureHeaders({ current }, id, now(), body)
  }
  const base64 = Buffer.from('0123456789abcdef').toString('base64')
  t.strictSame(await taken(base64, sign(base64)), yes, 'base64')
  t.strictSame(await taken(`whsec_${base64}`, sign(`whsec_${base64}`)), yes)
  const headers = sign('no base64!')
  t.strictSame((await taken('no base64!', headers)).slice(1), yes.slice(1))
  t.doesNotThrow(() => new Webhook('no base64!', { format: 'raw' }).verify(body.toString(), headers))
})

t.test('For a day after a rotation, both secrets are good', async (t) => {
  const secrets = new DerivedSecrets(join(t.testdir(), 'key'))
  const [old] = [secrets.of({ id: 'h1', secret: { generation: 3 } }, 0).current]
  const rotated = { id: 'h1', secret: { generation: 4, rotated_at: '2026-01-31T12:00:00.000Z' } }
  const at = Date.parse(rotated.secret.rotated_at)
  for (const later of [-1000, 0, HOUR, DAY - 1]) {
    const both = secrets.of(rotated, at + later)
    t.equal(both.previous, old)
    const headers = signatureHeaders(both, id, now(), body)
    t.strictSame(await taken(both.current, headers), yes)
    t.strictSame(await taken(old, headers), [true, false, false, false, false], 'where the header has place for it')
  }
  const { current, previous } = secrets.of(rotated, at + DAY)
  t.equal(previous, undefined)
  t.strictSame(await taken(old, signatureHeaders({ current }, id, now(), body)), no)
  t.equal(secrets.of(rotated, at - HOUR).previous, undefined, 'whatever a wrong clock has written')
})

t.test('Secrets are made of one key, which is made once and is for its owner alone', async (t) => {
  const file = join(t.testdir(), 'key')
  const secretOf = (id: string, generation = 0) =>
    new DerivedSecrets(file).of({ id, secret: { generation } }, 0).current
  const first = secretOf('h1')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const key = readFileSync(file, 'utf8')
  t.match(key, /^[\w-]{43}\n$/)
  t.equal(secretOf('h1'), first, 'the same in another instance')
  t.equal(new Set([first, secretOf('h2'), secretOf('h1', 1), secretOf('h10'), secretOf('h1', 10)]).size, 5)
  t.equal(readFileSync(file, 'utf8'), key)
  t.notOk(first.includes(key.trim()))
})

t.test('The folder of a key is made with it, for its owner alone', (t) => {
  const folder = join(t.testdir(), 'data')
  new DerivedSecrets(join(folder, 'key')).of({ id: 'h1', secret: { generation: 0 } }, 0)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.end()
})

t.test('A key that cannot be used is said, and what is there is not written over', async (t) => {
  const folder = t.testdir({ short: 'too short\n', folder: {} })
  const secretIn = (...path: string[]) =>
    new DerivedSecrets(join(folder, ...path)).of({ id: 'h1', secret: { generation: 0 } }, 0)
  t.throws(
    () => secretIn('short'),
    new AdministrationError(`hooks.secretFile cannot be used: ${folder}/short must hold 32 characters or more`),
  )
  t.equal(readFileSync(join(folder, 'short'), 'utf8'), 'too short\n')
  t.throws(() => secretIn('missing', 'folder', 'key'), { name: 'AdministrationError', message: /ENOENT.*missing/ })
  t.throws(() => secretIn('folder'), { name: 'AdministrationError', message: /EISDIR/ })
  const secrets = new DerivedSecrets(join(folder, 'later', 'made', 'key'))
  const hook = { id: 'h1', secret: { generation: 0 } }
  t.throws(() => secrets.of(hook, 0), { name: 'AdministrationError' })
  mkdirSync(join(folder, 'later', 'made'), { recursive: true })
  writeFileSync(join(folder, 'later', 'made', 'key'), 'k'.repeat(32))
  t.match(secrets.of(hook, 0).current, /^whsec_/, 'once it can, it is')
})
