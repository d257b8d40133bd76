// Tokens without end. Anybody with a session, or who may run token over ssh, made as many as they liked: 2,000 in two
// seconds. Each look at /settings/tokens then made a row of every one, and held up everybody else. A user has so many,
// by whatever way they come, and the page makes the rows that it shows.
import assert from 'node:assert'
import t, { type Test } from 'tap'
import { Tokens } from '../../lib/auth/tokens.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { TokenLimitReached } from '../../lib/errors.js'
import { tokensPage } from '../../lib/pages/tokens-page.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { Store } from '../../lib/contracts/store.js'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { CommandPlace } from '../fixtures/command.js'
import { isMissing, newDatabase, PostgresServer } from '../fixtures/postgres.js'
import { newAddress, startService } from '../fixtures/service.js'
import { signIn, visit } from '../fixtures/visit.js'

const { limits } = readSettings({ environment: {}, home: '/', directory: '/' })
const of = (user: string, expiresAt: string | null = null) => ({ user, name: '', scopes: ['repo'], expiresAt })
const form = { name: 'x', expires: '90d', scope: 'repo' }
const message = (most: number) => `too many tokens: limits.tokens is ${most}, and alice has as many; revoke one first`

t.test('A user has a hundred tokens, whatever way they are made, and others theirs', async (t) => {
  const service = await startService(t)
  const cookie = await signIn(service, 'alice')
  for (let made = 0; made < 98; made++) await service.admin.createToken(of('alice'))
  for (let made = 98; made < 100; made++)
    t.equal((await visit(service, '/settings/tokens', { cookie, form })).status, 201)
  const refused = await visit(service, '/settings/tokens', { cookie, form })
  t.strictSame([refused.status, refused.text.includes(message(100))], [422, true])
  await t.rejects(service.admin.createToken(of('alice')), { name: 'AdministrationError', message: message(100) })
  const tokens = await service.admin.listTokens('alice')
  t.equal(tokens.length, 100)
  await service.admin.createToken(of('bob'))
  await service.admin.revokeToken(tokens[0]?.id ?? '')
  t.equal((await visit(service, '/settings/tokens', { cookie, form })).status, 201, 'revoking one makes room')
})

t.test('The command refuses as well, while the service runs and while it does not', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_LIMIT_TOKENS: '1' }
  const create = async () => await place.run(['token', 'create', 'alice'], { environment })
  t.match(await create(), { status: 0 })
  const outcome = { status: 1, stdout: '', stderr: `commit-status: ${message(1)}\n` }
  t.strictSame(await create(), outcome)
  await place.serve(t, { environment })
  t.strictSame(await create(), outcome)
  t.match(await place.run(['token', 'list', '--json']), { stdout: /^.*\n$/ }, 'there is one')
})

t.test('What has expired makes room, the longest ago first, and the log says so', async (t) => {
  const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
  const service = await startService(t, { clock, settings: { limits: { ...limits, tokens: 3 } } })
  const [noon, one, two] = [12, 13, 14].map((hour) => `2026-01-31T${hour}:00:01.000Z`)
  const late = await service.admin.createToken(of('alice', two))
  const early = await service.admin.createToken(of('alice', one))
  const good = await service.admin.createToken(of('alice'))
  await t.rejects(service.admin.createToken(of('alice', noon)), { message: message(3) })
  clock.time = Date.parse('2026-01-31T15:00:00Z')
  const next = await service.admin.createToken(of('alice'))
  const ids = (await service.admin.listTokens('alice')).map(({ id }) => id)
  t.strictSame(ids.sort(), [late, good, next].map(({ id }) => id).sort())
  t.match(
    service.log.find(({ msg }) => msg === 'audit: expired token removed'),
    { token: early.id, user: 'alice' },
  )
})

const INSTANCES = 5

/** Makes tokens at once, and checks that those who were given one have it, and that no more than ten are there. */
async function checkRaces(t: Test, stores: readonly Store[]): Promise<void> {
  const clock = { now: () => Date.now() }
  const processes = Array.from({ length: INSTANCES }, (_, at) => {
    const store = stores[at % stores.length] ?? assert.fail()
    return new Tokens({ store: store.tokens, prefix: 'cst', maxTokens: 10, clock, logger: silentLogger })
  })
  t.teardown(async () => {
    for (const tokens of processes) await tokens.close()
    for (const store of stores) await store.close()
  })
  const makeAtOnce = async (user: string, makers: readonly Tokens[]): Promise<number> => {
    const before = new Set((await stores[0]?.tokens.list(user))?.map(({ id }) => id))
    const all = await Promise.allSettled(
      makers.map(async (tokens) => await tokens.create({ ...of(user), expiresAt: null })),
    )
    for (const each of all) if (each.status === 'rejected') t.ok(each.reason instanceof TokenLimitReached)
    const made = all.flatMap((each) => (each.status === 'fulfilled' ? each.value.record.id : []))
    const there = ((await stores[0]?.tokens.list(user)) ?? []).map(({ id }) => id).filter((id) => !before.has(id))
    t.strictSame(made.sort(), there.sort(), 'those who were given a token have it, and nothing else is there')
    return made.length
  }
  const [first] = processes
  t.equal(await makeAtOnce('alice', first ? Array.from({ length: 30 }, () => first) : []), 10)
  t.equal(await makeAtOnce('bob', first ? Array.from({ length: 9 }, () => first) : []), 9)
  t.ok((await makeAtOnce('bob', processes)) <= 1, 'of those who have seen room for one')
}

t.test('Of many that are made at once no more come to be', async (t) => {
  await checkRaces(t, [await openStore(await newAddress(t.testdir({})))])
})

t.test('Nor by instances that share a database', { skip: isMissing }, async (t) => {
  const address = await newDatabase(await (await PostgresServer.start(t)).template())
  await checkRaces(t, await Promise.all(Array.from({ length: INSTANCES }, async () => await openStore(address))))
})

t.test('The page of a user with many makes the rows that it shows', async (t) => {
  let looked = 0
  const tokens = Array.from({ length: 5000 }, (_, at) => ({
    id: String(at),
    user: 'alice',
    get name() {
      looked++
      return 'x'
    },
    scopes: ['repo'],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: null,
    last_used_at: null,
  }))
  for (const skip of [0, 4990, 6000]) {
    looked = 0
    const { content } = tokensPage({ base: '', tokens, now: 0, skip })
    const text = String(typeof content === 'function' ? content(20_000) : '')
    const rows = text.split('<li>').length - 1
    t.ok(skip === 6000 ? rows === 0 : rows > 5)
    t.ok(looked <= 100, `of ${looked} tokens`)
  }
})
