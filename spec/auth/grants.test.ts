import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { GrantPolicy } from '../../lib/auth/grants.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { ConfirmedCommits } from '../../lib/git/confirmed-commits.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { ACCESS, atLeast, higher, type Access } from '../../lib/contracts/access-policy.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { GrantKey } from '../../lib/contracts/records.js'
import { repositoryName, type RepositoryName } from '../../lib/domain/repository-name.js'
import { StatusLists } from '../../lib/service/status-lists.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { LevelStore } from '../../lib/store/level/level-store.js'

/** Names of which some begin like others, or differ in letter case. */
const PEOPLE = ['alice', 'alic', 'alice2', 'Alice', 'a.b', 'a-b', '__proto__']
const NAMES = ['hello', 'hell', 'hello2', 'alice']

function named(owner: string, name: string): RepositoryName {
  const repository = repositoryName(owner, name)
  assert.ok(repository)
  return repository
}

const REPOSITORIES = PEOPLE.flatMap((owner) => NAMES.map((name) => named(owner, name)))

const level = fc.constantFrom(...ACCESS)
const grantLevel = fc.constantFrom('read' as const, 'write' as const)
const person = fc.constantFrom(...PEOPLE)
const repository = fc.constantFrom(...REPOSITORIES)

/** On a whole owner, or on one repository. */
const grantKey: fc.Arbitrary<GrantKey> = fc.oneof(
  fc.record({ owner: person, user: person }),
  fc
    .record({ repository, user: person })
    .map(({ repository: on, user }) => ({ owner: on.owner, repository: on, user })),
)

async function openStore(t: Test): Promise<LevelStore> {
  const store = await LevelStore.open(join(t.testdir({}), 'store'))
  t.teardown(async () => {
    await store.close()
  })
  return store
}

t.test('Access is an ordered scale: none < read < write', async (t) => {
  t.strictSame(ACCESS, ['none', 'read', 'write'])
  const rank = (access: Access): number => ['none', 'read', 'write'].indexOf(access)
  const property = fc.property(level, level, (one, other) => {
    assert.equal(atLeast(one, other), rank(one) >= rank(other))
    assert.equal(rank(higher(one, other)), Math.max(rank(one), rank(other)))
  })
  t.doesNotThrow(() => {
    fc.assert(property)
  })
})

t.test(
  'A user has what the highest grant says, the user named like the owner has write, and everybody else has none',
  async (t) => {
    const store = await openStore(t)
    const policy = new GrantPolicy(store.grants)
    const action = fc.record({ key: grantKey, access: fc.option(grantLevel, { nil: undefined, freq: 2 }) })
    const property = fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
      const model = new Map<string, Access>()
      for (const { key, access } of actions) {
        const where = `${key.repository?.full ?? key.owner} ${key.user}`
        if (access) await store.grants.set({ ...key, access })
        else assert.equal(await store.grants.remove(key), model.has(where))
        if (access) model.set(where, access)
        else model.delete(where)
      }
      for (const on of REPOSITORIES) {
        for (const user of PEOPLE) {
          const rights = [
            user === on.owner ? 'write' : 'none',
            model.get(`${on.owner} ${user}`),
            model.get(`${on.full} ${user}`),
          ]
          const expected = rights.includes('write') ? 'write' : rights.includes('read') ? 'read' : 'none'
          assert.equal(await policy.access(user, on), expected, `${user} on ${on.full}`)
        }
      }
      for (const grant of await store.grants.list()) await store.grants.remove(grant)
    })
    await t.resolves(fc.assert(property, { numRuns: 40 }))
  },
)

t.test(
  'A further grant never takes a right away, a revoked one never gives any, and neither concerns anybody else',
  async (t) => {
    const store = await openStore(t)
    const policy = new GrantPolicy(store.grants)
    const rights = async (): Promise<Map<string, Access>> => {
      const found = await Promise.all(
        REPOSITORIES.map(
          async (on) =>
            await Promise.all(
              PEOPLE.map(async (user): Promise<[string, Access]> => [
                `${on.full} ${user}`,
                await policy.access(user, on),
              ]),
            ),
        ),
      )
      return new Map(found.flat())
    }
    const property = fc.asyncProperty(grantKey, grantLevel, async (key, access) => {
      const before = await rights()
      const had = (await store.grants.list(key.owner)).some(
        (grant) => grant.user === key.user && grant.repository?.full === key.repository?.full,
      )
      fc.pre(!had)
      await store.grants.set({ ...key, access })
      const granted = await rights()
      for (const [where, right] of before) {
        const [full, user] = where.split(' ')
        const isConcerned =
          user === key.user && (key.repository ? full === key.repository.full : full?.startsWith(`${key.owner}/`))
        assert.equal(granted.get(where), isConcerned ? higher(right, access) : right, where)
      }
      // Every other one stays, so that later ones meet many.
      if (access === 'read') return
      await store.grants.remove(key)
      assert.deepEqual(await rights(), before)
    })
    await t.resolves(fc.assert(property, { numRuns: 30 }))
  },
)

t.test('A grant outlives the process, and so does its end', async (t) => {
  const folder = join(t.testdir({}), 'store')
  const hello = named('alice', 'hello')
  for (const [change, right] of [
    [async (store: LevelStore) => await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' }), 'read'],
    [
      async (store: LevelStore) =>
        await store.grants.set({ owner: 'alice', repository: hello, user: 'bob', access: 'write' }),
      'write',
    ],
    [
      async (store: LevelStore) => await store.grants.remove({ owner: 'alice', repository: hello, user: 'bob' }),
      'read',
    ],
    [async (store: LevelStore) => await store.grants.remove({ owner: 'alice', user: 'bob' }), 'none'],
  ] as const) {
    const store = await LevelStore.open(folder)
    await change(store)
    await store.close()
    const opened = await LevelStore.open(folder)
    t.equal(await new GrantPolicy(opened.grants).access('bob', hello), right)
    await opened.close()
  }
})

/**
 * A service on repositories `alice/open`, `alice/closed` and one that cannot be looked up, with a damaged grant of
 * bob's on bob2's.
 */
async function makeService(t: Test): Promise<{ service: StatusLists; store: LevelStore; errors: string[] }> {
  const folder = t.testdir({
    repositories: {
      alice: { 'open.git': { 'git-daemon-export-ok': '' }, 'closed.git': {} },
      bob2: { 'hello.git': {}, 'open.git': {} },
    },
  })
  const repositories = join(folder, 'repositories')
  symlinkSync('loop.git', join(repositories, 'alice', 'loop.git'))
  writeFileSync(join(repositories, 'bob2', 'open.git', 'git-daemon-export-ok'), '')
  mkdirSync(join(folder, 'store'))
  const database = await LevelDatabase.open(join(folder, 'store'))
  await database.write([
    { type: 'put', key: '!grants!bob2//bob', value: '{"v":1,"crc":"00000000","is":{"access":"write"}}' },
  ])
  await database.close()
  const store = await LevelStore.open(join(folder, 'store'))
  t.teardown(async () => {
    await store.close()
  })
  const errors: string[] = []
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) }
  const parts = {
    repositories: new RepositoryFolder(repositories, { topOwner: 'git' }),
    commits: new ConfirmedCommits(new CommitFinder()),
    store,
    policy: new GrantPolicy(store.grants),
    clock: systemClock,
    logger,
    maxContexts: 1000,
  }
  return { service: new StatusLists(parts), store, errors }
}

t.test('A public repository gives everybody read; a missing one gives nobody anything', async (t) => {
  const { service, store, errors } = await makeService(t)
  await store.grants.set({ owner: 'alice', user: 'reader', access: 'read' })
  await store.grants.set({ owner: 'alice', user: 'writer', access: 'write' })
  const users = [undefined, 'stranger', 'reader', 'writer', 'alice']
  const rights = async (name: string): Promise<Access[]> =>
    await Promise.all(
      users.map(async (user) => await service.access(user === undefined ? {} : { user }, named('alice', name))),
    )
  t.strictSame(await rights('open'), ['read', 'read', 'read', 'write', 'write'])
  t.strictSame(await rights('closed'), ['none', 'none', 'read', 'write', 'write'])
  t.strictSame(await rights('missing'), ['none', 'none', 'none', 'none', 'none'])
  t.strictSame(errors, [])
})

t.test('Whatever fails to be determined means none, never more, and the log tells', async (t) => {
  const { service, store, errors } = await makeService(t)
  t.equal(await service.access({ user: 'bob' }, named('bob2', 'hello')), 'none', 'a damaged grant')
  t.equal(await service.access({ user: 'bob' }, named('bob2', 'open')), 'read', 'what is public is public all the same')
  t.equal(errors.splice(0).length, 2)
  for (const user of [undefined, 'stranger', 'alice'])
    t.equal(
      await service.access(user === undefined ? {} : { user }, named('alice', 'loop')),
      'none',
      'a repository that cannot be looked up',
    )
  t.equal(errors.splice(0).length, 3)
  await store.close()
  t.equal(await service.access({ user: 'alice' }, named('alice', 'closed')), 'none', 'a store that cannot be read')
  t.equal(errors.length, 1)
})
