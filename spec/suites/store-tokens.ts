import type { Test } from 'tap'
import type { TokenRecord } from '../../lib/contracts/records.js'
import { openedStore, type StoreFactory } from './store.js'

const TWO = '2026-01-31T14:00:00.000Z'
const THREE = '2026-01-31T15:00:00.000Z'

export function tokenSuite(t: Test, factory: StoreFactory): void {
  t.test('A token is found by its id, as it was added', async (t) => {
    const { tokens } = await openedStore(t, factory)
    const records = [
      recordOf('0a', { name: 'CI of \u{1f600} "x"', scopes: ['repo'], expires_at: '2027-01-31T12:00:00.000Z' }),
      recordOf('0ab', { scopes: [] }),
    ]
    for (const record of records) await tokens.add(record)
    for (const record of records) t.strictSame(await tokens.get(record.id), record)
    for (const id of ['', '0', '0abc', '0A', 'none'])
      t.equal(await tokens.get(id), undefined, `nothing is found by ${JSON.stringify(id)}`)
  })

  t.test('The limits of a token are kept as they were added', async (t) => {
    const { tokens } = await openedStore(t, factory)
    const records = [
      recordOf('1', { repositories: ['alice/hello', 'bob/x'], contexts: ['test/*', 'é "x"'], access: 'read' }),
      recordOf('2', { contexts: ['*'] }),
      recordOf('3', { access: 'read', scopes: [] }),
    ]
    for (const record of records) await tokens.add(record)
    for (const record of records) t.strictSame(await tokens.get(record.id), record)
    t.strictSame(
      await tokens.list(),
      records.map((record) => ({ ...record, last_used_at: null })),
    )
  })

  t.test('A token that was removed is gone', async (t) => {
    const { tokens } = await openedStore(t, factory)
    await tokens.add(recordOf('0a'))
    await tokens.add(recordOf('0ab'))
    t.equal(await tokens.remove('0a'), true)
    t.equal(await tokens.get('0a'), undefined)
    t.strictSame(ids(await tokens.list()), ['0ab'])
    t.equal(await tokens.remove('0a'), false, 'it is removed once')
    t.equal(await tokens.remove('none'), false)
  })

  t.test('Of parallel removals of one token, one removes it', async (t) => {
    const { tokens } = await openedStore(t, factory)
    await tokens.add(recordOf('0a'))
    const removed = await Promise.all(Array.from({ length: 10 }, () => tokens.remove('0a')))
    t.equal(removed.filter(Boolean).length, 1)
  })

  t.test('Tokens are listed by user and time of creation', async (t) => {
    const { tokens } = await openedStore(t, factory)
    const added = [
      recordOf('1', { user: 'bob', created_at: '2026-01-31T12:00:00.000Z' }),
      recordOf('2', { user: 'alice', created_at: '2026-01-31T12:00:00.002Z' }),
      recordOf('3', { user: 'alice', created_at: '2026-01-31T12:00:00.001Z' }),
      recordOf('4', { user: 'Zoe', created_at: '2026-01-31T12:00:00.000Z' }),
      recordOf('5', { user: 'alice-2', created_at: '2026-01-31T12:00:00.000Z' }),
    ]
    t.strictSame(await tokens.list(), [])
    for (const record of added) await tokens.add(record)
    t.strictSame(ids(await tokens.list()), ['4', '3', '2', '5', '1'])
    t.strictSame(ids(await tokens.list('alice')), ['3', '2'], 'of one user')
    t.strictSame(await tokens.list('ali'), [])
    t.strictSame(await tokens.list('bob'), [{ ...added[0], last_used_at: null }])
  })

  t.test('The last use of a token is noted in lists', async (t) => {
    const { tokens } = await openedStore(t, factory)
    for (const id of ['1', '2', '3']) await tokens.add(recordOf(id))
    await tokens.noteUse(new Map())
    await tokens.noteUse(
      new Map([
        ['1', TWO],
        ['3', TWO],
      ]),
    )
    await tokens.noteUse(new Map([['3', THREE]]))
    t.strictSame(
      (await tokens.list()).map((token) => token.last_used_at),
      [TWO, null, THREE],
    )
    t.strictSame(await tokens.get('1'), recordOf('1'), 'the token itself is as it was')
  })

  t.test('Noting a use does not revive a token that is gone', async (t) => {
    const { tokens } = await openedStore(t, factory)
    for (const id of ['1', '2']) await tokens.add(recordOf(id))
    await tokens.remove('1')
    await tokens.noteUse(
      new Map([
        ['1', TWO],
        ['2', TWO],
        ['none', TWO],
      ]),
    )
    t.equal(await tokens.get('1'), undefined)
    t.equal(await tokens.get('none'), undefined)
    t.strictSame(await tokens.list(), [{ ...recordOf('2'), last_used_at: TWO }], 'the others are noted')

    const [removed] = await Promise.all([tokens.remove('2'), tokens.noteUse(new Map([['2', THREE]]))])
    t.equal(removed, true)
    t.equal(await tokens.get('2'), undefined, 'nor while it is being removed')
    t.strictSame(await tokens.list(), [])
  })
}

function recordOf(id: string, more: Partial<TokenRecord> = {}): TokenRecord {
  return {
    id,
    digest: id.repeat(32),
    user: 'alice',
    name: '',
    scopes: ['repo'],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: null,
    ...more,
  }
}

function ids(records: readonly TokenRecord[]): string[] {
  return records.map((record) => record.id)
}
