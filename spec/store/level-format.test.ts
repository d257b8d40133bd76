import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')

t.test('A status stands under owner/repo/sha/context', async (t) => {
  const folder = await filledStore(t, async ({ statuses }) => {
    await statuses.save(repositoryNamed('alice/hello'), commitId('c0ffee'), reportOf('ci/build: é !'), NOON)
    await statuses.save(repositoryNamed('alice/hello'), commitId('c0ffee', 64), reportOf('default'), NOON)
  })
  t.strictSame(await withRawLevel(folder, (level) => level.keys().all()), [
    'alice/hello/c0ffee0000000000000000000000000000000000/ci/build: é !',
    'alice/hello/c0ffee0000000000000000000000000000000000000000000000000000000000/default',
  ])
})

t.test('A value is JSON that a person can read, with a version and a checksum', async (t) => {
  const folder = await filledStore(t, async ({ statuses }) => {
    await statuses.save(
      repositoryNamed('alice/hello'),
      commitId('c0ffee'),
      reportOf('ci', { state: 'failure', description: '2 of 300 "é"', target_url: 'https://ci.example/1' }),
      NOON,
    )
  })
  const [value = ''] = await withRawLevel(folder, (level) => level.values().all())
  t.match(value, /"state":"failure","description":"2 of 300 \\"é\\"","target_url":"https:\/\/ci\.example\/1"/)
  t.match(JSON.parse(value), {
    v: 1,
    crc: /^[0-9a-f]{8}$/,
    is: {
      id: /./,
      state: 'failure',
      description: '2 of 300 "é"',
      target_url: 'https://ci.example/1',
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
    },
  })
})

t.test('A program from before limits sees a limited token without a scope, and so refuses it', async (t) => {
  const folder = await filledStore(t, async ({ tokens }) => {
    await tokens.add({
      id: 'ffff',
      digest: 'd',
      user: 'alice',
      name: '',
      scopes: ['repo'],
      created_at: '2026-01-31T12:00:00.000Z',
      expires_at: null,
      contexts: ['test/*'],
    })
  })
  const [value = ''] = await withRawLevel(folder, (level) => level.values().all())
  t.match(JSON.parse(value), { is: { scopes: [], limited: { scopes: ['repo'], contexts: ['test/*'] } } })
})

t.test('Tokens and grants stand in sublevels, which sort before every name', async (t) => {
  const folder = await filledStore(t, async ({ statuses, tokens, grants }) => {
    // `-` and `.` sort lowest of what a name may hold, but a name does not begin with them.
    for (const name of ['0/0', 'A/a', '_/_'])
      await statuses.save(repositoryNamed(name), commitId('0'), reportOf('ci'), NOON)
    await tokens.add({
      id: 'ffff',
      digest: 'd',
      user: 'alice',
      name: '',
      scopes: [],
      created_at: '2026-01-31T12:00:00.000Z',
      expires_at: null,
    })
    await tokens.noteUse(new Map([['ffff', '2026-01-31T12:00:00.000Z']]))
    await grants.set({ owner: 'zoe', user: 'zoe', access: 'read' })
    await grants.set({ owner: 'zoe', repository: repositoryNamed('zoe/z'), user: 'bob', access: 'write' })
  })
  await withRawLevel(folder, async (level) => {
    t.strictSame(await level.sublevel('tokens').keys().all(), ['ffff'])
    t.strictSame(await level.sublevel('token-uses').keys().all(), ['ffff'])
    t.strictSame(await level.sublevel('grants').keys().all(), ['zoe//zoe', 'zoe/z/bob'])
    const sublevels = (await level.keys().all()).map((key) => key.startsWith('!'))
    t.strictSame(sublevels, [true, true, true, true, false, false, false])
    for (const value of await level.values().all()) t.match(JSON.parse(value), { v: 1, crc: /^[0-9a-f]{8}$/, is: {} })
  })
})

t.test('What was removed leaves nothing behind', async (t) => {
  const grant = { owner: 'alice', user: 'bob', access: 'read' } as const
  const folder = await filledStore(t, async ({ tokens, grants }) => {
    await tokens.add({
      id: 'ffff',
      digest: 'd',
      user: 'alice',
      name: '',
      scopes: [],
      created_at: '2026-01-31T12:00:00.000Z',
      expires_at: null,
    })
    await tokens.noteUse(new Map([['ffff', '2026-01-31T12:00:00.000Z']]))
    await tokens.remove('ffff')
    await grants.set(grant)
    await grants.remove(grant)
  })
  t.strictSame(await withRawLevel(folder, (level) => level.keys().all()), [])
})

/** A closed store with something in it. */
async function filledStore(t: Test, fill: (store: LevelStore) => Promise<void>): Promise<string> {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await fill(store)
  await store.close()
  return folder
}
