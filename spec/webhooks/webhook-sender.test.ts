import { verify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { Delivery, HookRecord } from '../../lib/contracts/hooks.js'
import { AddressPolicy } from '../../lib/webhooks/address-policy.js'
import { HttpClient } from '../../lib/webhooks/http-client.js'
import { DerivedSecrets } from '../../lib/webhooks/secrets.js'
import { ToldRepositories } from '../../lib/webhooks/told-repositories.js'
import { WebhookSender } from '../../lib/webhooks/webhook-sender.js'
import { addresses, branchDelivery, hook, pingDelivery, pushDelivery, statusDelivery } from '../fixtures/deliveries.js'
import { receiver } from '../fixtures/receiver.js'

const never = new AbortController().signal

const senderWith = (
  secrets = new DerivedSecrets('/nowhere/at/all/key'),
  find = async () => await Promise.resolve(undefined),
  logger = silentLogger,
  clock = systemClock,
) =>
  new WebhookSender({
    client: new HttpClient(new AddressPolicy(), systemClock),
    secrets,
    repositories: new ToldRepositories({ find }, { defaultBranch: () => 'main' }),
    addresses,
    ...{ clock, logger },
    version: '1.2.3',
  })

t.test('Each event is sent in the format of its hook, signed, with the headers of everybody', async (t) => {
  const { url, received } = await receiver(t)
  const send = async (delivery: Delivery) => {
    t.match(await senderWith().send(delivery, never), { kind: 'ok', status: 204 })
    const last = received.at(-1)
    if (!last) throw new Error('nothing has arrived')
    const { given = '' } = delivery.hook.secret
    t.ok(await verify(given, last.body, String(last.headers['x-hub-signature-256'])))
    const time = new Date(Number(last.headers['webhook-timestamp']) * 1000)
    t.equal(last.headers['webhook-signature'], new Webhook(given).sign(delivery.id, time, last.body))
    t.match(last.headers, {
      'user-agent': 'commit-status/1.2.3',
      'x-github-event': delivery.event,
      'x-github-delivery': delivery.id,
      'x-github-hook-id': /^\d+$/,
      'x-gitea-event': delivery.event,
      'x-gitea-delivery': delivery.id,
      'x-forgejo-event': delivery.event,
      'x-gogs-event': delivery.event,
      'webhook-id': delivery.id,
    })
    return last
  }
  const secret = { given: 'whsec_MDEyMzQ1Njc4OWFiY2RlZg==' }
  const to = (format: HookRecord['format']) => hook({ url: `${url}/path`, format, secret })
  for (const [make, event] of [
    [statusDelivery, { context: 'ci/test' }],
    [branchDelivery, { action: 'broken' }],
    [pushDelivery, { ref: 'refs/heads/main', pusher: { name: 'alice' } }],
  ] as const) {
    const github = await send(make({ hook: to('github') }))
    t.equal(github.headers['content-type'], 'application/json')
    t.match(JSON.parse(github.body), { ...event, repository: { full_name: 'alice/hello' } })
  }
  t.match(JSON.parse((await send(pingDelivery(to('github')))).body), { hook: { active: true } })
  const chat = await send(statusDelivery({ hook: to('chat') }))
  t.equal(chat.headers['content-type'], 'application/json')
  t.strictSame(JSON.parse(chat.body), {
    text: '✗ alice/hello aaaaaaaa on main: ci/test failed – 3 of 42 tests <https://ci.example.com/1>',
  })
  const text = await send(branchDelivery({ hook: to('text') }))
  t.equal(text.headers['content-type'], 'text/plain; charset=utf-8')
  t.match(text.body, /^✗ alice\/hello main is broken at aaaaaaaa: ci\/test failed\n/)
  t.match((await send(pingDelivery(to('text')))).body, /^✓ commit-status reaches you/)
})

t.test('What cannot be said or signed is tried later and logged once a minute, and nothing is sent', async (t) => {
  const { url, received } = await receiver(t)
  const lines: Record<string, unknown>[] = []
  const logger = { ...silentLogger, error: (facts: object, msg: string) => void lines.push({ ...facts, msg }) }
  const at = { now: 0 }
  const fault = { kind: 'later', retryAfterSeconds: 60, milliseconds: 0 }
  const find = async () => await Promise.reject(new Error('EIO: /srv/git/alice'))
  const broken = senderWith(undefined, find, logger, { now: () => at.now })
  const reason = 'the repository cannot be read: nothing was sent'
  for (const now of [0, 59_999, 60_000]) {
    at.now = now
    t.strictSame(await broken.send(statusDelivery({ hook: hook({ url }) }), never), { ...fault, reason })
  }
  const msg = 'deliveries cannot be made: they are tried again'
  const line = { hook: 'h1', repository: 'alice/hello', err: new Error('the repository cannot be read'), msg }
  t.match(lines, [line, line])
  t.equal(lines.length, 2)
  const unsigned = senderWith(undefined, undefined, logger)
  t.strictSame(await unsigned.send(pingDelivery({ url, secret: { generation: 0 } }), never), {
    ...{ ...fault, reason: 'the key of hooks.secretFile cannot be read: nothing was sent' },
  })
  t.match(lines[2], { hook: 'h1', repository: undefined, err: { message: /ENOENT/ }, msg })
  t.equal(received.length, 0)
})

t.test('An address that may not be called is refused, and nothing is sent', async (t) => {
  const { port, received } = await receiver(t)
  const refused = hook({ url: `http://0.0.0.0:${port}/secret` })
  const result = await senderWith().send(statusDelivery({ hook: refused }), never)
  t.match(result, { kind: 'refused', status: undefined, reason: /unspecified/ })
  t.notMatch(result.reason, /secret/)
  t.equal(received.length, 0)
})
