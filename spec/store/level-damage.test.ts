import { closeSync, fstatSync, openSync, readdirSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreCorrupt } from '../../lib/errors.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { contentCheck, decode, encode } from '../../lib/store/level/record.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'
import { collect } from '../suites/store.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const CI = `${repository.full}/${commit.hex}/ci`
const OTHER = `${repository.full}/${commit.hex}/other`
const TOKEN = '!tokens!0a'
const USE = '!token-uses!0a'
const GRANT = '!grants!alice//bob'

t.test('A value in which any byte has changed is damaged', async (t) => {
  const isRight = contentCheck<{ text: string }>({ text: { type: 'string' } })
  const value = Buffer.from(encode('a/b', { text: 'é "1"' }))
  t.strictSame(decode('a/b', value.toString(), isRight), { text: 'é "1"' })
  for (const position of value.keys()) {
    for (const mask of [0x01, 0x20, 0x80]) {
      const changed = Buffer.from(value)
      changed.writeUInt8(changed.readUInt8(position) ^ mask, position)
      if (!throws(() => decode('a/b', changed.toString(), isRight)))
        t.fail(`a change of byte ${position} by ${mask} is not noticed: ${changed.toString()}`)
    }
  }
})

const damages: Record<string, (value: string) => string> = {
  'with another byte': (value) => value.replace('"is":{', '"is":{ '),
  'cut short': (value) => value.slice(0, -1),
  'with something after it': (value) => `${value}\n`,
  'that is empty': () => '',
  'that is other JSON': () => '{}',
  'of another version': (value) => value.replace('"v":1', '"v":2'),
  'with a right checksum, but of another form': () => encode(CI, { id: 1 }),
  'with a right checksum, but with a reporter that is nobody': () =>
    encode(CI, { id: 'x', state: 'success', reporter: { token: null } }),
}

for (const [damage, change] of Object.entries(damages)) {
  t.test(`A status ${damage} is StoreCorrupt, never a wrong answer`, async (t) => {
    const store = await damagedStore(t, (values) => ({ [CI]: change(values[CI] ?? '') }))
    const damaged = { name: 'StoreCorrupt', message: `the value of "${CI}" is damaged` }
    await t.rejects(store.statuses.list(repository, commit), damaged)
    await t.rejects(async () => await store.statuses.serialised(repository, commit), damaged)
    await t.rejects(collect(store.statuses.scan(repository)), damaged)
    await t.rejects(
      store.statuses.save(repository, commit, reportOf('ci'), 0),
      damaged,
      'nor is it replaced by one with another id',
    )
  })
}

t.test('A value that was moved to another key is StoreCorrupt', async (t) => {
  const store = await damagedStore(t, (values) => ({
    [OTHER]: values[CI] ?? '',
    '!tokens!0b': values[TOKEN] ?? '',
    '!grants!alice//carol': values[GRANT] ?? '',
  }))
  await t.rejects(store.statuses.list(repository, commit), StoreCorrupt)
  await t.rejects(async () => await store.tokens.get('0b'), StoreCorrupt)
  await t.rejects(async () => await store.grants.of('carol', repository), StoreCorrupt)
  t.match(await store.tokens.get('0a'), { user: 'alice' }, 'what was not moved is as it was')
  t.match(await store.grants.of('bob', repository), [{ access: 'read' }])
})

t.test('A damaged value refuses the changes that need it and no other, although they share a write', async (t) => {
  const store = await damagedStore(t, (values) => ({ [CI]: `${values[CI] ?? ''} ` }))
  const save = (context: string) => store.statuses.save(repository, commit, reportOf(context), 0)
  const results = await Promise.allSettled([save('first'), save('other'), save('ci'), save('last')])
  t.strictSame(
    results.map((result) => result.status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  t.equal(store.unavailableReason(), undefined, 'the store goes on')
})

for (const context of ['ci', undefined]) {
  t.test(
    `A damaged status is counted, and can be removed (${context ?? 'with all of its commit'}); then its context ` +
      `takes reports again`,
    async (t) => {
      const store = await damagedStore(t, () => ({ [CI]: '{}' }))
      await t.rejects(async () => await store.statuses.serialised(repository, commit), StoreCorrupt)
      t.ok(await store.statuses.count(repository))
      t.ok(await store.statuses.remove(repository, commit, context))
      t.match(JSON.parse((await wholeList(store, repository, commit)).bytes.toString()), {
        statuses: context === undefined ? [] : [{}],
      })
      t.equal((await store.statuses.save(repository, commit, reportOf('ci'), 0)).previous, undefined)
    },
  )
}

t.test('A damaged token or grant is StoreCorrupt, and can still be removed', async (t) => {
  const store = await damagedStore(t, () => ({ [TOKEN]: '{}', [GRANT]: '{}' }))
  await t.rejects(async () => await store.tokens.get('0a'), StoreCorrupt)
  await t.rejects(store.tokens.list(), StoreCorrupt)
  await t.rejects(async () => await store.grants.of('bob', repository), StoreCorrupt)
  await t.rejects(store.grants.list(), StoreCorrupt)
  t.equal(await store.tokens.remove('0a'), true)
  t.equal(await store.grants.remove({ owner: 'alice', user: 'bob' }), true)
  t.strictSame([await store.tokens.list(), await store.grants.list()], [[], []])
})

t.test('A damaged last use is StoreCorrupt in lists; the token works on', async (t) => {
  const store = await damagedStore(t, () => ({ [USE]: '{}' }))
  await t.rejects(store.tokens.list(), StoreCorrupt)
  t.match(await store.tokens.get('0a'), { user: 'alice' })
})

t.test('What goes wrong in a table of a store that is open ends what reads it', async (t) => {
  const folder = join(t.testdir(), 'store')
  const first = await LevelStore.open(folder)
  const saved = Array.from({ length: 600 }, async (_, index) => {
    const report = reportOf(`check ${index}`, { description: 'x'.repeat(1000) })
    return await first.statuses.save(repository, commit, report, 0)
  })
  await Promise.all(saved)
  await first.close()
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  // Its index is read with the first key; of the statuses nothing is in memory.
  t.equal(await store.tokens.get('0a'), undefined)
  const table = join(folder, readdirSync(folder).find((name) => name.endsWith('.ldb')) ?? '')
  const file = openSync(table, 'r+')
  const { size } = fstatSync(file)
  writeSync(file, Buffer.alloc(size >> 4), 0, size >> 4, (size >> 2) * 3)
  closeSync(file)
  const corrupt = { name: 'StoreCorrupt', message: /^what is stored at .* cannot be read$/ }
  for (const _ of ['first', 'again'])
    await t.rejects(async () => await store.statuses.serialised(repository, commit), corrupt, 'while it is measured')
  await t.rejects(collect(store.statuses.pages(repository, commit)), corrupt)
  await t.rejects(store.statuses.count(repository), corrupt)
  await store.close()
})

t.test('Tokens in a table that is no more are not taken for wrong ones', async (t) => {
  const store = await damagedStore(t, () => ({}))
  const folder = join(t.testdirName, 'store')
  for (const name of readdirSync(folder)) if (name.endsWith('.ldb')) truncateSync(join(folder, name))
  t.throws(() => store.tokens.get('0a'), { name: 'StoreUnavailable', message: 'the store cannot be read' })
})

/** A store with two statuses, a token that was used and a grant, after its values were changed behind its back. */
async function damagedStore(
  t: Test,
  damage: (values: Record<string, string>) => Record<string, string>,
): Promise<LevelStore> {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  for (const context of ['ci', 'other']) await store.statuses.save(repository, commit, reportOf(context), 0)
  await store.tokens.add({
    id: '0a',
    digest: 'd',
    user: 'alice',
    name: '',
    scopes: [],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: null,
  })
  await store.tokens.noteUse(new Map([['0a', '2026-01-31T12:00:00.000Z']]))
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await store.close()
  await withRawLevel(folder, async (level) => {
    for (const [key, value] of Object.entries(damage(Object.fromEntries(await level.iterator().all()))))
      await level.put(key, value)
  })
  const damaged = await LevelStore.open(folder)
  t.teardown(async () => await damaged.close())
  return damaged
}

function throws(call: () => unknown): boolean {
  try {
    call()
    return false
  } catch (error) {
    return error instanceof StoreCorrupt
  }
}
