import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { openSending, type SendingSettings } from '../../lib/webhooks/sending.js'
import { ToldRepositories } from '../../lib/webhooks/told-repositories.js'
import { addresses, pingDelivery } from '../fixtures/deliveries.js'
import { receiver } from '../fixtures/receiver.js'
import { smtpServer, smtpServerIsMissing } from '../fixtures/smtp-server.js'

const never = new AbortController().signal
const skip = smtpServerIsMissing

const sendingWith = (t: Test, settings: Partial<SendingSettings> = {}) =>
  openSending(
    { allow: [], secretFile: join(t.testdir(), 'hooks.key'), ...settings },
    {
      repositories: new ToldRepositories({ find: async () => undefined }, { defaultBranch: () => 'main' }),
      addresses,
      ...{ clock: systemClock, logger: silentLogger },
      version: '1.2.3',
    },
  )

t.test('What goes to an address of a mail is mailed, and everything else is posted', { skip }, async (t) => {
  const { port, mails, arrived } = await smtpServer(t)
  const { url, received } = await receiver(t)
  const { sender } = sendingWith(t, { mail: { server: `smtp://127.0.0.1:${port}`, sender: 'ci@example.com' } })
  t.match(await sender.send(pingDelivery({ url: 'mailto:alice@example.com' }), never), { kind: 'ok' })
  t.match(await sender.send(pingDelivery({ url }), never), { kind: 'ok', status: 204 })
  await arrived(1)
  t.strictSame([mails.length, received.length], [1, 1])
})

t.test('Without a mail server no mail is sent', async (t) => {
  const { sender, check } = sendingWith(t)
  const reason = 'mails are not sent here: mail.server is not set'
  t.match(await sender.send(pingDelivery({ url: 'mailto:alice@example.com' }), never), { kind: 'refused', reason })
  t.throws(() => check('mailto:alice@example.com'), { name: 'RefusedAddress', message: reason })
})

t.test('Mails that nobody could send are refused at the start', async (t) => {
  const mail = { server: 'smtp://ci:secret@mail.example.com', sender: 'ci@example.com' }
  t.doesNotThrow(() => sendingWith(t, { mail }))
  for (const server of ['smtp://', 'http://ci:secret@mail.example.com', 'smtp://ci:secret@mail.example.com:secret', ''])
    t.throws(() => sendingWith(t, { mail: { ...mail, server } }), {
      name: 'StartError',
      message: 'mail.server must be smtp:// or smtps:// and a host',
    })
  for (const sender of ['', 'ci', 'CI <ci@example.com>'])
    t.throws(() => sendingWith(t, { mail: { ...mail, sender } }), {
      name: 'StartError',
      message: 'mail.sender must be the address that mails are from',
    })
})

t.test('An address is looked at before there is a hook for it', async (t) => {
  const mail = { server: 'smtp://localhost', sender: 'ci@example.com' }
  const { check } = sendingWith(t, { mail, allow: ['169.254.0.0/16'] })
  for (const good of ['https://chat.example.com/hooks/x', 'http://127.0.0.1:8080/', 'mailto:alice@example.com'])
    t.doesNotThrow(() => check(good), good)
  t.doesNotThrow(() => check('http://169.254.1.1/'), 'as hooks.allow names it')
  for (const bad of ['http://0.0.0.0/', 'ftp://example.com/', 'mailto:alice', 'http://alice@example.com/', 'nothing'])
    t.throws(() => check(bad), { name: 'RefusedAddress' }, bad)
})

t.test('Secrets come from the key in the file', async (t) => {
  const { secrets } = sendingWith(t)
  t.match(secrets.of({ id: 'h1', secret: { generation: 0 } }, 0).current, /^whsec_/)
})
