// A forged X-Forwarded-For: whoever may choose the address that failures are counted by guesses tokens without end, or
// locks others out. Past victims: Devise and rack-attack set-ups, Gitea and Grafana behind proxies, fail2ban rules.
import t from 'tap'
import type { Settings } from '../../lib/stand-alone/settings.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { sendRaw } from '../fixtures/raw-http.js'

const authFailures: Settings['authFailures'] = { limit: 3, windowSeconds: 600 }

/** The status of a request with a wrong token (or the one given) that came, as it says, by way of these addresses. */
async function attempt(
  { service, listPath }: HostedCommit,
  forwarded: string | readonly string[],
  token = 'wrong',
): Promise<number> {
  const headers = [forwarded].flat().map((line) => `X-Forwarded-For: ${line}`)
  return (await sendRaw(service.url, [`GET ${listPath} HTTP/1.1`, `Authorization: Bearer ${token}`, ...headers])).status
}

async function attempts(hosted: HostedCommit, forwarded: readonly (string | readonly string[])[]): Promise<number[]> {
  const statuses: number[] = []
  for (const lines of forwarded) statuses.push(await attempt(hosted, lines))
  return statuses
}

for (const trustedProxies of [[], ['10.0.0.0/8', '::2']]) {
  t.test(
    `X-Forwarded-For of a peer that is no trusted proxy is not believed; trusted: ${trustedProxies.join() || 'none'}`,
    async (t) => {
      const hosted = await hostCommit(t, { settings: { authFailures, trustedProxies } })
      t.strictSame(
        await attempts(hosted, [
          '198.51.100.1',
          '198.51.100.2',
          '10.0.0.1, 198.51.100.3',
          '198.51.100.4',
          '127.0.0.1',
          '',
        ]),
        [401, 401, 401, 429, 429, 429],
      )
      t.equal(await attempt(hosted, '198.51.100.9', hosted.token), 429, 'a right token neither')
      const headers = ['X-Real-IP', 'Forwarded', 'X-Client-IP', 'CF-Connecting-IP', 'True-Client-IP'].map(
        (name) => `${name}: ${name === 'Forwarded' ? 'for=' : ''}198.51.100.5`,
      )
      const answer = await sendRaw(hosted.service.url, [
        `GET ${hosted.listPath} HTTP/1.1`,
        `Authorization: Bearer ${hosted.token}`,
        ...headers,
      ])
      t.equal(answer.status, 429, 'nor any other header')
      t.strictSame(
        new Set(hosted.service.log.flatMap(({ client }) => client ?? [])),
        new Set(['127.0.0.1']),
        'the log names the peer',
      )
    },
  )
}

t.test('Behind a trusted proxy each client has a budget of its own', async (t) => {
  const hosted = await hostCommit(t, { settings: { authFailures, trustedProxies: ['127.0.0.1'] } })
  t.strictSame(await attempts(hosted, Array<string>(5).fill('198.51.100.1')), [401, 401, 401, 429, 429])
  t.equal(await attempt(hosted, '198.51.100.2', hosted.token), 200, 'another client is not locked out')
  t.equal(await attempt(hosted, [], hosted.token), 200, 'nor is the proxy itself')
  t.equal(await attempt(hosted, '198.51.100.1', hosted.token), 429)
})

t.test(
  'What a client writes into X-Forwarded-For stands to the left of what the proxies add, and is not looked at',
  async (t) => {
    const hosted = await hostCommit(t, {
      settings: { authFailures, trustedProxies: ['127.0.0.0/8', '10.0.0.0/8', '2001:db8:ffff::/48'] },
    })
    const forged = [
      '198.51.100.77, 203.0.113.7',
      '127.0.0.1, 203.0.113.7, 10.1.2.3',
      '203.0.113.8, 203.0.113.7, 10.1.2.3, 10.3.2.1',
      ['10.0.0.9', '203.0.113.7', '2001:db8:ffff::1'],
      'garbage, , 203.0.113.7,10.9.9.9',
    ]
    t.strictSame(
      await attempts(hosted, forged),
      [401, 401, 401, 429, 429],
      'one client, by way of one or several proxies',
    )
    t.equal(await attempt(hosted, '203.0.113.7', hosted.token), 429)
    for (const victim of ['198.51.100.77', '203.0.113.8', '127.0.0.1', '10.0.0.9'])
      t.equal(await attempt(hosted, victim, hosted.token), 200, `${victim} is not locked out`)
  },
)

t.test('A client of many addresses counts once: IPv4-mapped IPv6 as IPv4, IPv6 by its /64', async (t) => {
  const hosted = await hostCommit(t, { settings: { authFailures, trustedProxies: ['127.0.0.1'] } })
  t.strictSame(
    await attempts(hosted, [
      '2001:db8:0:1::1',
      '2001:DB8::1:ffff:0:0:2',
      '2001:db8:0:1:aaaa:bbbb:cccc:dddd',
      '2001:db8:0:1::4',
    ]),
    [401, 401, 401, 429],
  )
  t.equal(await attempt(hosted, '2001:db8:0:2::1', hosted.token), 200, 'the next /64 is another client')
  t.strictSame(
    await attempts(hosted, ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107', '::FFFF:203.0.113.7']),
    [401, 401, 401, 429],
  )
})

t.test('Behind a proxy that adds the port each client has a budget of its own, whatever the port', async (t) => {
  const hosted = await hostCommit(t, { settings: { authFailures, trustedProxies: ['127.0.0.1', '10.0.0.0/8'] } })
  const ports = [
    '203.0.113.1:51111',
    '203.0.113.1:51112',
    '203.0.113.1',
    '[203.0.113.1]:7',
    '203.0.113.1:1, 10.0.0.2:80',
  ]
  t.strictSame(await attempts(hosted, ports), [401, 401, 401, 429, 429])
  t.equal(await attempt(hosted, '203.0.113.2:51111', hosted.token), 200, 'one attacker does not lock out others')
  const six = ['[2001:db8::1]:443', '[2001:db8::2]:444', '2001:db8::3', '[2001:db8::4]']
  t.strictSame(await attempts(hosted, six), [401, 401, 401, 429])
  t.equal(await attempt(hosted, '[2001:db8:0:1::1]:443', hosted.token), 200)
})

t.test('Garbage from a trusted proxy counts as the proxy, is answered as ever, and opens nothing', async (t) => {
  const garbage = [
    'unknown', '_hidden', '999.1.1.1', '203.0.113.7/8', '<script>', '%00',
    'a'.repeat(4000), '__proto__', 'constructor',
    '2001:db8::1::2', '\xff\xfe', 'localhost', '198.51.100.1;10.0.0.1', '127.0.0.1, ?', '198.51.100.1, "198.51.100.1"',
  ] // prettier-ignore
  const hosted = await hostCommit(t, {
    settings: { authFailures: { limit: garbage.length, windowSeconds: 600 }, trustedProxies: ['127.0.0.1'] },
  })
  t.strictSame(await attempts(hosted, garbage), Array<number>(garbage.length).fill(401))
  t.equal(await attempt(hosted, 'more garbage', hosted.token), 429, 'one budget for all of it')
  t.equal(await attempt(hosted, [], hosted.token), 429, 'that of the proxy')
  for (const client of ['198.51.100.1', '203.0.113.7', '2001:db8::1'])
    t.equal(await attempt(hosted, client, hosted.token), 200, `${client} is not locked out`)
  t.strictSame(
    hosted.service.log.filter(({ level }) => Number(level) >= 40),
    [],
    'no warning, no error',
  )
  t.strictSame(await hosted.stored(), [])
})
