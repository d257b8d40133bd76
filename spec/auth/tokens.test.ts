import { mock } from 'node:test'
import fc from 'fast-check'
import t from 'tap'
import { Tokens } from '../../lib/auth/tokens.js'
import type { Identity } from '../../lib/contracts/authenticator.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { TokenRecord } from '../../lib/contracts/records.js'
import { CountingTokens } from '../fixtures/counting-tokens.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { NOON, testTokens } from '../fixtures/tokens.js'

const HOUR = 60 * 60 * 1000
/** Whom a token of alice speaks for; which token it is is another matter. */
const ALICE = { user: 'alice', scopes: ['repo'] }

function withoutId(identity: Identity | undefined): Identity | undefined {
  const { tokenId, ...rest } = identity ?? {}
  return tokenId === undefined ? identity : { user: '', scopes: [], ...rest }
}

t.test('A token speaks for its user, with its scopes', async (t) => {
  const { tokens, create } = await testTokens(t)
  for (const identity of [ALICE, { user: 'bob', scopes: [] }]) {
    const { token } = await create(identity)
    t.strictSame(withoutId(await tokens.authenticate(token)), identity)
  }
})

t.test('A token expires at its time, to the millisecond, and never without one', async (t) => {
  const { tokens, create, clock } = await testTokens(t)
  const { token } = await create({ expiresAt: NOON + 1000 })
  const { token: lasting } = await create()
  const times: readonly (readonly [number, boolean])[] = [
    [NOON, true],
    [NOON + 999, true],
    [NOON + 1000, false],
    [NOON + 1001, false],
    [NOON + 100 * 365 * 24 * HOUR, false],
    [NOON + 999, true],
    [0, true],
  ]
  for (const [time, isGood] of times) {
    clock.time = time
    t.strictSame(withoutId(await tokens.authenticate(token)), isGood ? ALICE : undefined, `${time - NOON} ms later`)
    t.strictSame(withoutId(await tokens.authenticate(lasting)), ALICE)
  }
})

t.test('A token whose time of expiry makes no sense has expired', async (t) => {
  const { tokens, store, create } = await testTokens(t)
  const { token, id } = await create()
  const record = await store.tokens.get(id)
  t.ok(record)
  if (record) await store.tokens.add({ ...record, expires_at: 'some day' })
  t.equal(await tokens.authenticate(token), undefined)
  await t.rejects(create({ expiresAt: NaN }), RangeError, 'and none is made')
  t.equal((await store.tokens.list()).length, 1)
})

t.test('A token works once it has been made, and not any more once it has been revoked', async (t) => {
  const { tokens, store, create } = await testTokens(t)
  const { token: other } = await create()
  for (let round = 1; round <= 20; round++) {
    const { token, id } = await create()
    t.strictSame(withoutId(await tokens.authenticate(token)), ALICE)
    t.equal(await store.tokens.remove(id), true)
    t.equal(await tokens.authenticate(token), undefined)
    t.equal(await store.tokens.remove(id), false)
  }
  t.strictSame(withoutId(await tokens.authenticate(other)), ALICE, 'another one of the same user does')
})

t.test('A token is not made when its id is that of another one', async (t) => {
  const { store, create } = await testTokens(t)
  const { id } = await create()
  class Taken extends CountingTokens {
    override async get(): Promise<TokenRecord | undefined> {
      return await super.get(id)
    }
  }
  const tokens = new Tokens({
    store: new Taken(store.tokens),
    prefix: 'cst',
    maxTokens: 100,
    clock: systemClock,
    logger: silentLogger,
  })
  await t.rejects(tokens.create({ user: 'mallory', name: '', scopes: ['repo'], expiresAt: null }), {
    message: /digest that no other has/,
  })
  await tokens.close()
  t.strictSame(
    (await store.tokens.list()).map(({ user }) => user),
    ['alice'],
  )
})

t.test('The last use is known to the hour, not closer', async (t) => {
  const { tokens, create, clock, lastUse } = await testTokens(t)
  const { token, id } = await create()
  t.equal(await lastUse(id), null, 'before the first use')
  const uses: readonly (readonly [string, string])[] = [
    ['2026-01-31T12:34:56.789Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:59:59.999Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T13:00:00.000Z', '2026-01-31T13:00:00.000Z'],
    ['2026-03-01T00:00:00.001Z', '2026-03-01T00:00:00.000Z'],
  ]
  for (const [used, noted] of uses) {
    clock.time = Date.parse(used)
    await tokens.authenticate(token)
    await tokens.noteUses()
    t.equal(await lastUse(id), noted)
  }
})

t.test('Wrong, expired and revoked tokens are not used by being tried', async (t) => {
  const { tokens, store, create, clock, counting, lastUse } = await testTokens(t)
  const expired = await create({ expiresAt: NOON })
  const revoked = await create()
  await store.tokens.remove(revoked.id)
  for (const { token } of [expired, revoked, { token: 'wrong' }]) await tokens.authenticate(token)
  clock.time += HOUR
  await tokens.noteUses()
  t.equal(counting.calls.noteUse, 0)
  t.equal(await lastUse(expired.id), null)
})

t.test('Uses are written down once a minute, off the path of requests, and once an hour for each token', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => {
    mock.timers.reset()
  })
  const { tokens, store, create, clock, counting, lastUse } = await testTokens(t)
  const made = [await create(), await create()]
  for (let use = 1; use <= 100; use++) for (const { token } of made) await tokens.authenticate(token)
  t.equal(counting.calls.noteUse, 0, 'no request writes')
  mock.timers.tick(59_999)
  t.equal(counting.calls.noteUse, 0)
  mock.timers.tick(1)
  t.equal(counting.calls.noteUse, 1, 'both at once')

  // Changes of the store are made in their order: this one comes after the first.
  await store.tokens.remove('none')
  for (let minute = 1; minute < 20; minute++) {
    clock.time += 60_000
    for (const { token } of made) await tokens.authenticate(token)
    mock.timers.tick(60_000)
  }
  t.equal(counting.calls.noteUse, 1, 'no more in the same hour')
  clock.time += HOUR
  await tokens.authenticate(made[0]?.token ?? '')
  await tokens.noteUses()
  t.equal(counting.calls.noteUse, 2)
  t.equal(await lastUse(made[0]?.id ?? ''), '2026-01-31T13:00:00.000Z')
  t.equal(await lastUse(made[1]?.id ?? ''), '2026-01-31T12:00:00.000Z')
})

t.test(
  'A store that cannot note uses fails no request; the log says so, and the use is noted when it can',
  async (t) => {
    const { tokens, create, log, counting, lastUse } = await testTokens(t)
    const { token, id } = await create()
    counting.beforeNote = async () => await Promise.reject(new Error('the disk is full'))
    t.strictSame(withoutId(await tokens.authenticate(token)), ALICE)
    await tokens.noteUses()
    t.strictSame(log, ['warn: the last use of tokens could not be noted'])
    t.strictSame(withoutId(await tokens.authenticate(token)), ALICE)

    counting.beforeNote = undefined
    t.equal(await lastUse(id), null)
    await tokens.noteUses()
    t.equal(await lastUse(id), '2026-01-31T12:00:00.000Z')
    t.equal(counting.calls.noteUse, 2)
  },
)

t.test('A use that could not be noted is not lost, and does not hide a later one', async (t) => {
  const { tokens, create, counting, clock, lastUse } = await testTokens(t)
  const [once, again] = [await create(), await create()]
  for (const { token } of [once, again]) await tokens.authenticate(token)
  counting.beforeNote = async () => {
    clock.time += HOUR
    await tokens.authenticate(again.token)
    throw new Error('the disk is full')
  }
  await tokens.noteUses()
  counting.beforeNote = undefined
  await tokens.noteUses()
  t.equal(await lastUse(once.id), '2026-01-31T12:00:00.000Z')
  t.equal(await lastUse(again.id), '2026-01-31T13:00:00.000Z')
})

t.test('Noting a use never revives a revoked token, in whatever order and however close the two come', async (t) => {
  const { tokens, create, store, clock, lastUse } = await testTokens(t)
  const action = fc.constantFrom('use', 'note', 'revoke', 'wait', 'settle')
  const property = fc.asyncProperty(fc.array(action, { maxLength: 8 }), async (actions) => {
    const { token, id } = await create()
    const pending: Promise<unknown>[] = []
    const act = {
      use: () => pending.push(Promise.resolve(tokens.authenticate(token))),
      note: () => pending.push(tokens.noteUses()),
      revoke: () => pending.push(store.tokens.remove(id)),
      wait: () => (clock.time += HOUR),
      settle: () => Promise.all(pending),
    }
    for (const name of [...actions, 'revoke', 'note', 'settle', 'note', 'settle'] as const) await act[name]()
    const isGone =
      (await tokens.authenticate(token)) === undefined &&
      (await store.tokens.get(id)) === undefined &&
      (await lastUse(id)) === undefined
    const record = {
      id,
      digest: '0'.repeat(64),
      user: 'bob',
      name: '',
      scopes: [],
      created_at: '2026-01-31T12:00:00.000Z',
      expires_at: null,
    }
    await store.tokens.add(record)
    const isForgotten = (await lastUse(id)) === null
    await store.tokens.remove(id)
    return isGone && isForgotten
  })
  await t.resolves(fc.assert(property))
})

t.test('Closing writes down the uses of the last minute', async (t) => {
  const { tokens, create, lastUse } = await testTokens(t)
  const { token, id } = await create()
  await tokens.authenticate(token)
  await tokens.close()
  t.equal(await lastUse(id), '2026-01-31T12:00:00.000Z')
})

t.test('Expiry and last use follow the clock of the service, over HTTP', async (t) => {
  const clock = { time: NOON, now: () => clock.time }
  const { service, sha } = await hostCommit(t, { clock })
  const { token, id } = await service.admin.createToken({
    user: 'alice',
    name: '',
    scopes: ['repo'],
    expiresAt: new Date(NOON + 1).toISOString(),
  })
  t.equal((await service.report('alice/hello', sha, token, { state: 'success' })).status, 201)
  clock.time += 1
  t.equal((await service.report('alice/hello', sha, token, { state: 'failure' })).status, 401)
  t.equal((await service.list('alice/hello', sha)).body['state'], 'success', 'nothing was stored')
  await service.admin.revokeToken(id)
  t.strictSame(
    await service.admin.listTokens('alice').then((tokens) => tokens.map((listed) => listed.id).includes(id)),
    false,
  )
})
