import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { HookRecord } from '../../lib/contracts/hooks.js'
import { mailAddresses } from '../../lib/webhooks/mail-addresses.js'
import { MailSender } from '../../lib/webhooks/mail-sender.js'
import { makeCertificate } from '../fixtures/certificate.js'
import {
  addresses,
  branchDelivery,
  hook,
  pingDelivery,
  pushDelivery,
  status,
  statusDelivery,
} from '../fixtures/deliveries.js'
import { freePort } from '../fixtures/free-port.js'
import { missing } from '../fixtures/program.js'
import { smtpServer, smtpServerIsMissing } from '../fixtures/smtp-server.js'

const SHA = 'a'.repeat(40)
const never = new AbortController().signal
const skip = smtpServerIsMissing
const skipTls = smtpServerIsMissing || (await missing('openssl'))

const person = { name: 'A U Thor', email: 'author@example.com', seconds: 0 }
const commit = { tree: '', parents: [], author: person, committer: person, message: 'Grüße\n\nvon hier\n' }

const hookTo = (url: string, members: Partial<HookRecord> = {}) =>
  hook({ url, events: ['broken', 'fixed'], ...members })

/** A sender, and the clock that it goes by. */
const senderTo = (server: string, milliseconds?: number) => {
  const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
  const dependencies = { clock, pages: addresses.pages }
  return { clock, sender: new MailSender({ server, sender: 'ci@example.com' }, dependencies, milliseconds) }
}

t.test('A mail says what is broken, in plain text, to the addresses of the hook alone', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { sender } = senderTo(`smtp://127.0.0.1:${port}`)
  const delivery = branchDelivery({
    hook: hookTo('mailto:alice@example.com,bob%2Bci@example.com'),
    commit,
    statuses: [
      status({ description: 'drei von\nzweiundvierzig Prüfungen' }),
      status({ context: 'ci/lint', description: null, target_url: null }),
    ],
  })
  t.match(await sender.send(delivery, never), { kind: 'ok', reason: 'the mail server has taken it' })
  await arrived(1)
  t.match(mails, [
    {
      envelope: { from: 'ci@example.com', to: ['alice@example.com', 'bob+ci@example.com'] },
      headers: {
        from: 'commit-status <ci@example.com>',
        to: 'alice@example.com, bob+ci@example.com',
        subject: 'alice/hello main is broken at aaaaaaaa: ci/test, ci/lint failed',
        'message-id': `<${delivery.id}@example.com>`,
        'auto-submitted': 'auto-generated',
        'content-type': /^text\/plain; charset="?utf-8"?$/,
      },
    },
  ])
  t.equal(
    mails[0]?.text.replaceAll('\r\n', '\n'),
    [
      'The branch main of alice/hello is broken at aaaaaaaa, “Grüße” by A U Thor.',
      `https://status.example.com/repos/alice/hello/commits/${SHA}`,
      '',
      'Failed:',
      '  ci/test: drei von zweiundvierzig Prüfungen',
      '    https://ci.example.com/1',
      '  ci/lint',
      '',
      '-- ',
      'You get this mail since the hook h1 on alice/* has your address.',
      'An admin ends it: commit-status hook delete h1',
      '',
    ].join('\n'),
  )
})

t.test('A mail says what is fixed, and a ping that mails arrive', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { sender } = senderTo(`smtp://localhost:${port}`)
  const statuses = Array.from({ length: 22 }, (_, index) => status({ context: `c${index}`, state: 'success' }))
  const fixed = branchDelivery({ event: 'fixed', hook: hookTo('mailto:alice@example.com'), statuses })
  t.match(await sender.send(fixed, never), { kind: 'ok' })
  const ping = pingDelivery({ url: 'MAILTO:alice@example.com' })
  t.match(await sender.send(ping, never), { kind: 'ok' })
  t.match(await sender.send(ping, never), { kind: 'ok' }, 'as often as an admin wants')
  await arrived(3)
  t.equal(mails[0]?.headers['subject'], 'alice/hello main is fixed at aaaaaaaa')
  t.match(mails[0]?.text, /is fixed at aaaaaaaa\.\r?\n.*\r?\n\r?\nSucceeded:\r?\n {2}c0\r?\n/)
  t.match(mails[0]?.text, / {2}c19\r?\n {2}and 2 more\r?\n/)
  t.equal(mails[1]?.headers['subject'], 'commit-status reaches you: hook h1 on alice/*')
  t.match(mails[1]?.text, /^✓ commit-status reaches you: hook h1 on alice\/\*\.\r?\n/)
})

t.test('What a reporter says is neither a header nor another line', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { sender } = senderTo(`smtp://127.0.0.1:${port}`)
  const evil = 'x\r\nBcc: mallory@example.com\r\n\r\n.\r\nQUIT'
  const statuses = [status({ context: evil, description: evil })]
  const delivery = branchDelivery({ hook: hookTo('mailto:alice@example.com'), branch: evil, statuses })
  t.match(await sender.send(delivery, never), { kind: 'ok' })
  await arrived(1)
  t.strictSame(mails[0]?.envelope.to, ['alice@example.com'])
  t.equal(mails[0]?.headers['bcc'], undefined)
  t.notMatch(mails[0]?.text, /^(?:Bcc|\.|QUIT)/m)
  t.match(mails[0]?.headers['subject'], /x Bcc: mallory@example.com . QUIT failed$/)
})

t.test('There is one mail of a branch in ten minutes', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { sender, clock } = senderTo(`smtp://127.0.0.1:${port}`)
  const to = hookTo('mailto:alice@example.com')
  const broken = branchDelivery({ hook: to })
  const fixed = branchDelivery({ hook: to, event: 'fixed' })
  t.match(await sender.send(broken, never), { kind: 'ok' })
  t.match(await sender.send(broken, never), { kind: 'ok', reason: 'the mail server has taken it before' }, 'no second')
  const reason = 'the last mail of the branch was just before'
  t.match(await sender.send(fixed, never), { kind: 'later', retryAfterSeconds: 600, reason })
  clock.time += 599_000
  t.match(await sender.send(fixed, never), { kind: 'later', retryAfterSeconds: 1 })
  t.match(await sender.send(branchDelivery({ hook: to, branch: 'next' }), never), { kind: 'ok' }, 'of another branch')
  const other = branchDelivery({ hook: hookTo('mailto:bob@example.com', { id: 'h2' }) })
  t.match(await sender.send(other, never), { kind: 'ok' }, 'of another hook')
  clock.time += 1_000
  t.match(await sender.send(fixed, never), { kind: 'ok' })
  clock.time -= 3_600_000
  const again = branchDelivery({ hook: to })
  t.match(await sender.send(again, never), { kind: 'later', retryAfterSeconds: 600 }, 'whatever becomes of the clock')
  await arrived(4)
  t.equal(mails.length, 4)
})

t.test('A mail that was not taken is none', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { sender } = senderTo(`smtp://127.0.0.1:${port}`)
  const nobody = branchDelivery({ hook: hookTo('mailto:nobody@example.com') })
  const result = await sender.send(nobody, never)
  t.match(result, { kind: 'failed', reason: 'the mail server has answered 550 to RCPT TO' })
  t.match(await sender.send(nobody, never), { kind: 'failed' }, 'and may be tried again at once')
  const some = branchDelivery({ hook: hookTo('mailto:nobody@example.com,alice@example.com') })
  t.match(await sender.send(some, never), {
    kind: 'ok',
    reason: 'the mail server has taken it, but not for 1 of its addresses',
  })
  await arrived(1)
  t.strictSame(mails[0]?.envelope.to, ['alice@example.com'])
})

t.test('A mail server that does not answer is a failure', async (t) => {
  const none = senderTo(`smtp://127.0.0.1:${await freePort()}`)
  const ping = pingDelivery({ url: 'mailto:alice@example.com' })
  t.match(await none.sender.send(ping, never), {
    kind: 'failed',
    reason: /^the mail server cannot be used: .*ECONNREFUSED/,
  })
  const silent = await silentServer(t)
  t.match(await senderTo(silent.url, 200).sender.send(ping, never), {
    kind: 'failed',
    reason: 'the mail server took more than 0.2 s',
  })
  const stop = new AbortController()
  silent.server.once('connection', () => stop.abort())
  t.match(await senderTo(silent.url).sender.send(ping, stop.signal), { kind: 'failed', reason: /the service stops/ })
})

t.test('Single statuses and pushes are not mailed', async (t) => {
  const { sender } = senderTo('smtp://127.0.0.1:1')
  const to = { hook: hookTo('mailto:alice@example.com') }
  for (const delivery of [statusDelivery(to), pushDelivery(to)])
    t.match(await sender.send(delivery, never), {
      kind: 'refused',
      reason: 'mails are sent of broken and fixed alone',
    })
})

t.test('A password goes over no open line', { skip: skipTls }, async (t) => {
  const tls = await makeCertificate(t.testdir())
  const ping = pingDelivery({ url: 'mailto:alice@example.com' })
  const open = await smtpServer(t, { password: 'p@ss' })
  t.match(await senderTo(`smtp://ci:p%40ss@localhost:${open.port}`).sender.send(ping, never), {
    kind: 'failed',
    reason: /STARTTLS|TLS/,
  })
  const strange = await smtpServer(t, { password: 'p@ss', tls })
  t.match(await senderTo(`smtp://ci:p%40ss@localhost:${strange.port}`).sender.send(ping, never), {
    kind: 'failed',
    reason: /self-signed certificate/,
  })
  t.strictSame([open.mails, strange.mails], [[], []])
  const trusting = async (server: string) => {
    const environment = { ...process.env, NODE_EXTRA_CA_CERTS: tls.certificate }
    const program = fileURLToPath(new URL('../fixtures/mail-process.ts', import.meta.url))
    const args = ['--import=./spec/loader/register.js', program, server, ping.hook.url]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment })
    return JSON.parse(stdout) as object
  }
  t.match(await trusting(`smtp://ci:p%40ss@localhost:${strange.port}`), { kind: 'ok' })
  await strange.arrived(1)
  t.match(strange.mails, [{ tls: true, user: 'ci' }])
  t.match(await trusting(`smtp://ci:wrong@localhost:${strange.port}`), {
    kind: 'failed',
    reason: /^the mail server has answered 535 to AUTH/,
  })
  const implicit = await smtpServer(t, { password: 'p@ss', tls, implicit: true })
  t.match(await trusting(`smtps://ci:p%40ss@localhost:${implicit.port}`), { kind: 'ok' })
})

t.test('A mail server on this machine needs no good certificate', { skip: skipTls }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t, { tls: await makeCertificate(t.testdir()) })
  const ping = pingDelivery({ url: 'mailto:alice@example.com' })
  t.match(await senderTo(`smtp://127.0.0.1:${port}`).sender.send(ping, never), { kind: 'ok' })
  await arrived(1)
  t.match(mails, [{ tls: false, user: null }])
})

t.test('Where no port is given it is the usual one', async (t) => {
  // No connection can be made to this address.
  const ping = pingDelivery({ url: 'mailto:alice@example.com' })
  for (const [server, port] of [
    ['smtp://255.255.255.255', 25],
    ['smtp://ci:secret@255.255.255.255', 587],
    ['smtps://255.255.255.255', 465],
  ] as const) {
    const { reason } = await senderTo(server).sender.send(ping, never)
    t.match(reason, new RegExp(`255(?:\\.255){3}:${port}\\b`))
    t.notMatch(reason, /secret/)
  }
})

t.test('A mailto has addresses and nothing else', async (t) => {
  t.strictSame(mailAddresses('mailto:a@example.com,b.c+d@sub.example.com'), ['a@example.com', 'b.c+d@sub.example.com'])
  const many = Array.from({ length: 21 }, (_, index) => `a${index}@example.com`)
  t.equal(mailAddresses(`mailto:${many.slice(1).join()}`).length, 20)
  for (const url of [
    'mailto:',
    'mailto:alice',
    'mailto:a@example.com?bcc=b@example.com',
    'mailto:a@example.com#x',
    'mailto:a@example.com,',
    'mailto:a@example.com%0d%0aBcc:b@example.com',
    'mailto:%',
    'mailto:"a b"@example.com',
    'mailto:a@b@example.com',
    'mailto:Alice <a@example.com>',
    'https://example.com/a@b',
    `mailto:${many.join()}`,
  ])
    t.throws(() => mailAddresses(url), { name: 'RefusedAddress', message: /^the address must be mailto: and/ }, url)
})

/** A server that takes connections and says nothing. */
async function silentServer(t: Test) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { server, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
