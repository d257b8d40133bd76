import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { digestToken, makeToken } from '../../lib/auth/token.js'
import { anyCharacter } from '../fixtures/any-character.js'
import { storeFiles } from '../fixtures/store-files.js'
import { testTokens } from '../fixtures/tokens.js'

const HEX = Array.from('0123456789abcdef')

t.test('A token is its prefix, an underscore, 40 random hex digits and 8 of a checksum', async (t) => {
  for (const prefix of ['cst', 'ab', 'a234567890123456']) {
    const token = makeToken(prefix)
    t.match(token, new RegExp(`^${prefix}_[0-9a-f]{48}$`))
    t.ok(digestToken(prefix, token))
  }
})

t.test('A token has at least 160 random bits: every one of its 40 random digits takes every value', async (t) => {
  const tokens = Array.from({ length: 1000 }, () => makeToken('cst'))
  t.equal(new Set(tokens).size, 1000, 'no two are the same')
  for (let place = 4; place < 44; place++) {
    // Of 1000 random digits one misses a value once in 10^27 runs.
    const digits = new Set(tokens.map((token) => token[place]))
    if (digits.size !== HEX.length) t.fail(`the digit at ${place} was only ever ${[...digits].join()}`)
  }
  for (const half of [0, 1]) {
    const parts = new Set(tokens.map((token) => token.slice(4 + half * 20, 24 + half * 20)))
    t.equal(parts.size, 1000, 'neither half repeats')
  }
})

t.test('A token is looked up by its SHA-256, and listed by the beginning of that', async (t) => {
  const token = makeToken('cst')
  const digest = createHash('sha256').update(token).digest('hex')
  t.strictSame(digestToken('cst', token), { id: digest.slice(0, 12), digest })
})

t.test('The checksum refuses a token with any one character changed, without a look-up', async (t) => {
  const { tokens, create, counting } = await testTokens(t)
  const { token } = await create()
  const before = counting.calls.get
  for (let place = 0; place < token.length; place++) {
    for (const character of [...HEX, token[place]?.toUpperCase() ?? '', 'g', '_', ' ', '\0', 'ä', '０', '']) {
      const changed = token.slice(0, place) + character + token.slice(place + 1)
      if (changed !== token && (await tokens.authenticate(changed)) !== undefined)
        t.fail(`${character} at ${place} was taken`)
    }
  }
  t.equal(counting.calls.get, before, 'the store was not asked')
  t.match(await tokens.authenticate(token), { user: 'alice', scopes: ['repo'] }, 'the token itself is taken')
  t.equal(counting.calls.get, before + 1, 'with one look-up')
})

t.test(
  'What is cut off, doubled, turned round, of another prefix or anything else is refused without a look-up',
  async (t) => {
    const { tokens, create, counting } = await testTokens(t)
    const { token } = await create()
    const before = counting.calls.get
    const neighbours = Array.from(
      { length: token.length - 1 },
      (_, place) => token.slice(0, place) + (token[place + 1] ?? '') + (token[place] ?? '') + token.slice(place + 2),
    )
    const foreign = [
      makeToken('xyz'),
      makeToken('cs'),
      makeToken('cstx'),
      makeToken('CST'),
      `ghp_${'a'.repeat(36)}`,
      `cst-${token.slice(4)}`,
    ]
    const cut = Array.from(token, (_, length) => token.slice(0, length))
    for (const text of [
      ...neighbours,
      ...foreign,
      ...cut,
      `${token}0`,
      `0${token}`,
      token + token,
      ` ${token}`,
      `${token}\n`,
      token.toUpperCase(),
      token.slice(4),
      '',
    ]) {
      if (text !== token)
        t.equal(await tokens.authenticate(text), undefined, JSON.stringify(text.replace(token, 'TOKEN')))
    }
    const anything = fc.asyncProperty(
      fc.oneof(fc.string({ unit: anyCharacter }), fc.stringMatching(/^cst_[0-9a-f]{40}00000000$/)),
      async (text) => {
        assert.equal(await tokens.authenticate(text), undefined)
      },
    )
    await t.resolves(fc.assert(anything))
    t.equal(counting.calls.get, before, 'the store was not asked')
  },
)

t.test('A well-formed token that was never made is unknown, and one look-up tells', async (t) => {
  const { tokens, create, counting } = await testTokens(t)
  await create()
  const before = counting.calls.get
  t.equal(await tokens.authenticate(makeToken('cst')), undefined)
  t.equal(counting.calls.get, before + 1)
})

t.test('A token whose id is that of another one is not taken for it', async (t) => {
  const { tokens, store, create } = await testTokens(t)
  const { token, id } = await create()
  const record = await store.tokens.get(id)
  t.ok(record)
  if (record)
    await store.tokens.add({ ...record, digest: record.digest.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) })
  t.equal(await tokens.authenticate(token), undefined)
})

t.test('Only the digest of a token is stored: neither its text nor its bits are in any file or record', async (t) => {
  const { tokens, store, folder, create } = await testTokens(t)
  const made = [
    await create(),
    await create({ user: 'bob', name: 'agent 7', scopes: [], expiresAt: 4_000_000_000_000 }),
  ]
  for (const { token } of made) await tokens.authenticate(token)
  await tokens.close()
  const records = JSON.stringify([
    await store.tokens.list(),
    await Promise.all(made.map(async ({ id }) => await store.tokens.get(id))),
  ])
  await store.close()

  for (const { token } of made) {
    const random = token.slice(4, 44)
    const { digest } = digestToken('cst', token) ?? {}
    const forms = [
      token,
      random,
      random.toUpperCase(),
      Buffer.from(random).toString('base64'),
      Buffer.from(random, 'hex').toString('base64'),
      random.slice(0, 16),
      random.slice(-16),
      token.slice(-8),
    ]
    t.ok(digest && records.includes(digest) && storeFiles(folder).includes(digest), 'the digest is')
    for (const form of forms) {
      t.notOk(records.includes(form), 'not in a record')
      t.notOk(storeFiles(folder).includes(form), 'not in a file')
    }
    t.notOk(storeFiles(folder).includes(Buffer.from(random, 'hex')), 'nor as bytes')
  }
})
