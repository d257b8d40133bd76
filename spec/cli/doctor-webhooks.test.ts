import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { HookRecord } from '../../lib/contracts/hooks.js'
import { repositoryName } from '../../lib/domain/repository-name.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace } from '../fixtures/command.js'
import { freePort } from '../fixtures/free-port.js'
import { hookOf, hooksOf } from '../fixtures/hooks.js'
import { smtpServer, smtpServerIsMissing } from '../fixtures/smtp-server.js'

const KEY = `${'k'.repeat(43)}\n`

/** A running service with hooks as they may have become, and what doctor says of it. */
async function world(t: Test, ...hooks: readonly HookRecord[]) {
  const place = new CommandPlace(t.testdir())
  const key = join(place.folder, 'hooks.secret')
  writeFileSync(key, KEY, { mode: 0o600 })
  const store = await LevelStore.open(place.store)
  for (const hook of hooks) await hooksOf(store).add(hook)
  await store.close()
  const { url } = await place.serve(t)
  const port = new URL(url).port
  const doctor = async (environment = {}) =>
    await place.run(['doctor'], { environment: { COMMIT_STATUS_PORT: port, ...environment } })
  return { place, key, doctor }
}

const HERE = 'http://127.0.0.1:9/secret'
const AT = '2026-01-31T12:00:00.000Z'
const attempt = { at: AT, delivery: 'd', event: 'status', result: 'failed', milliseconds: 3 } as const

t.test('Doctor says of each webhook how it does, and nothing of its address but the host', async (t) => {
  const { doctor } = await world(
    t,
    hookOf('a1', { url: HERE, on: 'alice/hello' }),
    hookOf('a2', { url: HERE, state: 'paused' }),
  )
  const { status, stdout } = await doctor()
  t.match(stdout, /^ok +webhooks +the key \S+\/hooks\.secret of \w+, 2 webhooks$/m)
  t.match(stdout, /^ok +webhook +a1 on alice\/hello to http:\/\/127\.0\.0\.1:9\/… is active; nothing waits$/m)
  t.match(stdout, /^warn +webhook +a2 on \* to http:\/\/127\.0\.0\.1:9\/… is paused; nothing waits$/m)
  t.notMatch(stdout, /secret\/path|9\/secret|kkk/)
  t.equal(status, 0)
})

t.test('A webhook that fails, was stopped, or was not told of all, is named', async (t) => {
  const next_attempt_at = new Date(Date.now() + 3_600_000).toISOString()
  const last = { ...attempt, reason: 'the answer was 500' }
  const { doctor } = await world(
    t,
    hookOf('b1', { url: HERE, failing_since: AT, attempts: 3, next_attempt_at, last }),
    hookOf('b2', {
      url: HERE,
      state: 'stopped',
      stopped_because: 'its receiver wants no more (410)',
      behind_since: AT,
    }),
    hookOf('b3', { url: HERE, behind_since: AT }),
  )
  const { status, stdout } = await doctor()
  const resend = (id: string) => `nothing of ${AT} and later was kept: commit-status hook resend ${id} --since ${AT}\n`
  t.match(
    stdout,
    `b1 on * to http://127.0.0.1:9/… fails since ${AT}: the answer was 500; the next attempt is at ` +
      `${next_attempt_at}; nothing waits\n`,
  )
  t.match(
    stdout,
    'b2 on * to http://127.0.0.1:9/… is stopped: its receiver wants no more (410); once it is resumed, ' + resend('b2'),
  )
  t.match(stdout, `b3 on * to http://127.0.0.1:9/… is active; ${resend('b3')}`)
  t.strictSame(stdout.match(/^\w+(?= +webhook )/gm), ['fail', 'fail', 'warn'])
  t.equal(status, 1)
})

t.test('How much waits for a webhook is said', async (t) => {
  const place = new CommandPlace(t.testdir())
  const store = await LevelStore.open(place.store)
  const hooks = hooksOf(store)
  const repository = repositoryName('alice', 'hello')
  if (!repository) return
  await hooks.add(hookOf('c1', { url: HERE, state: 'paused' }))
  await hooks.outbox.add([
    { hook: 'c1', repository, subject: `${'a'.repeat(40)}/ci`, delivery: 'd', since: AT, from: null },
  ])
  await store.close()
  await place.serve(t)
  t.match((await place.run(['doctor'])).stdout, `is paused; 1 wait since ${AT}\n`)
})

t.test('An address that nobody has, or that is not called, is wrong', async (t) => {
  const { doctor } = await world(
    t,
    hookOf('d1', { url: 'https://receiver.invalid/secret/path' }),
    hookOf('d2', { url: 'http://169.254.169.254/secret/path', on: 'alice/*' }),
    hookOf('d3', { url: 'http://[::1]:9/secret/path' }),
  )
  const { status, stdout } = await doctor()
  t.match(stdout, /^fail +webhook +d1 on \*: .*receiver\.invalid$/m)
  t.match(stdout, /^fail +webhook +d2 on alice\/\*: 169\.254\.169\.254 is not called: the address is link-local/m)
  t.notMatch(stdout, /^fail +webhook +d3/m)
  t.notMatch(stdout, /secret\/path/)
  t.equal(status, 1)
  const allowed = await doctor({ COMMIT_STATUS_HOOKS_ALLOW: '169.254.0.0/16' })
  t.notMatch(allowed.stdout, /^fail +webhook +d2/m)
  const nothing = await doctor({ COMMIT_STATUS_HOOKS_ALLOW: '10.0.0.0/64' })
  t.match(
    nothing.stdout,
    /^fail +settings +bad setting hooks\.allow.* must be an IP address or a range, 10\.0\.0\.0\/8/m,
  )
})

t.test('A key that others can read, that is none, or that is gone is named', async (t) => {
  const { doctor, key } = await world(t, hookOf('e1', { url: HERE }))
  chmodSync(key, 0o640)
  t.match((await doctor()).stdout, /^warn +webhooks +the key \S+ is open to others than \w+, who could sign as the/m)
  writeFileSync(key, 'short')
  t.match(await doctor(), { status: 1, stdout: /^fail +webhooks +hooks\.secretFile cannot be used: .* 32 characters/m })
  rmSync(key)
  t.match((await doctor()).stdout, /^warn +webhooks +the key \S+ is not there: .*ENOENT.*; webhooks whose secret was/m)
})

t.test('Where there are no webhooks, and where they are off, nothing is said of them', async (t) => {
  const place = new CommandPlace(t.testdir())
  t.notMatch((await place.run(['doctor'])).stdout, / webhooks? /)
  writeFileSync(join(place.folder, 'hooks.secret'), KEY, { mode: 0o600 })
  const off = { COMMIT_STATUS_HOOKS_SECRET_FILE: '' }
  t.notMatch((await place.run(['doctor'], { environment: off })).stdout, / webhooks? /)
  t.match((await place.run(['doctor'])).stdout, /^ok +webhooks +the key \S+ of \w+, 0 webhooks$/m)
})

t.test('Without a mail server, webhooks of mailto: reach nobody', async (t) => {
  const { doctor } = await world(t, hookOf('f1', { url: 'mailto:alice@example.com', events: ['broken'] }))
  const { status, stdout } = await doctor()
  t.match(stdout, /^ok +webhook +f1 on \* to mailto:alice@example\.com is active/m)
  t.match(stdout, /^fail +mail +mail\.server is not set, and there are webhooks of mailto:$/m)
  t.equal(status, 1)
})

t.test('The mail server is tried, and no mail is sent', { skip: smtpServerIsMissing }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const said = async (server: string, sender = 'ci@example.com') => {
    const environment = { COMMIT_STATUS_MAIL_SERVER: server, COMMIT_STATUS_MAIL_SENDER: sender }
    const { stdout } = await place.run(['doctor'], { environment })
    t.notMatch(stdout, /geheim/)
    return stdout
  }
  const { port, mails } = await smtpServer(t)
  t.match(await said(`smtp://127.0.0.1:${port}`), `mail          127.0.0.1:${port} takes mails from ci@example.com\n`)
  t.strictSame(mails, [])
  t.match(await said(`smtp://127.0.0.1:${port}`, ''), /^fail +mail +mail\.sender must be the address/m)
  t.match(await said(`smtp://ci:geheim@127.0.0.1:${port}`), /^fail +mail +127\.0\.0\.1:\d+: the mail server .*TLS/m)
  t.match(
    await said(`smtp://127.0.0.1:${await freePort()}`),
    /^fail +mail +127\.0\.0\.1:\d+: the mail server cannot be used: .*ECONNREFUSED/m,
  )
})

t.test('A mail server that says nothing is waited for no longer than for a service', async (t) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const environment = {
    COMMIT_STATUS_MAIL_SERVER: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    COMMIT_STATUS_MAIL_SENDER: 'ci@example.com',
  }
  const { stdout } = await new CommandPlace(t.testdir()).run(['doctor'], { environment })
  t.match(
    stdout,
    /^fail +mail +127\.0\.0\.1:\d+: the mail server cannot be used: (?:Greeting never received|Timeout)$/m,
  )
})
