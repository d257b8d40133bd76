import type { Test } from 'tap'
import type { Grant, GrantKey } from '../../lib/contracts/records.js'
import { repositoryNamed } from '../fixtures/names.js'
import { openedStore, type StoreFactory } from './store.js'

export function grantSuite(t: Test, factory: StoreFactory): void {
  t.test('The grants of a user on a repository are the owner’s and the repository’s', async (t) => {
    const { grants } = await openedStore(t, factory)
    const wide = grantOf('alice', 'bob', 'read')
    const narrow = grantOf('alice/hello', 'bob', 'write')
    t.strictSame(await grants.of('bob', repositoryNamed('alice/hello')), [])
    await grants.set(wide)
    t.strictSame(await grants.of('bob', repositoryNamed('alice/hello')), [wide])
    await grants.set(narrow)
    t.same(new Set(await grants.of('bob', repositoryNamed('alice/hello'))), new Set([wide, narrow]))
    t.strictSame(await grants.of('bob', repositoryNamed('alice/other')), [wide])
  })

  t.test('A grant gives nothing to anybody else, nor on anything else', async (t) => {
    const { grants } = await openedStore(t, factory)
    for (const on of ['a', 'a/b']) await grants.set(grantOf(on, 'bob', 'write'))
    for (const user of ['bo', 'bobb', 'Bob', 'b', 'a'])
      t.strictSame(await grants.of(user, repositoryNamed('a/b')), [], user)
    for (const name of ['ab/b', 'a-b/b', 'A/b', 'bob/b', 'b/a'])
      t.strictSame(await grants.of('bob', repositoryNamed(name)), [], name)
    for (const name of ['a/b-c', 'a/b.c', 'a/B', 'a/bob'])
      t.strictSame(await grants.of('bob', repositoryNamed(name)), [grantOf('a', 'bob', 'write')], name)
  })

  t.test('A user has one grant on a thing: setting it again replaces it', async (t) => {
    const { grants } = await openedStore(t, factory)
    for (const access of ['read', 'write', 'read'] as const) {
      await grants.set(grantOf('alice/hello', 'bob', access))
      t.strictSame(await grants.list(), [grantOf('alice/hello', 'bob', access)])
    }
  })

  t.test('Of parallel settings of one grant the last call stays', async (t) => {
    const { grants } = await openedStore(t, factory)
    const levels = Array.from({ length: 21 }, (_, index) => (index % 2 === 0 ? 'write' : 'read'))
    await Promise.all(levels.map((access) => grants.set(grantOf('alice', 'bob', access))))
    t.strictSame(await grants.list(), [grantOf('alice', 'bob', 'write')])
  })

  t.test('A grant that was removed is gone, and only that one', async (t) => {
    const { grants } = await openedStore(t, factory)
    for (const on of ['alice', 'alice/hello']) await grants.set(grantOf(on, 'bob', 'read'))
    t.equal(await grants.remove(keyOf('alice/other', 'bob')), false)
    t.equal(await grants.remove(keyOf('alice', 'carol')), false)
    t.equal(await grants.remove(keyOf('alice', 'bob')), true)
    t.equal(await grants.remove(keyOf('alice', 'bob')), false, 'it is removed once')
    t.strictSame(await grants.of('bob', repositoryNamed('alice/hello')), [grantOf('alice/hello', 'bob', 'read')])
    t.equal(await grants.remove(keyOf('alice/hello', 'bob')), true)
    t.strictSame(await grants.of('bob', repositoryNamed('alice/hello')), [])
    t.strictSame(await grants.list(), [])
  })

  t.test(
    'Grants are listed by what they are on and by user: all, those of an owner, those of a repository',
    async (t) => {
      const { grants } = await openedStore(t, factory)
      const all = [
        grantOf('A/b', 'bob', 'read'),
        grantOf('a', 'Zoe', 'read'),
        grantOf('a', 'bob', 'write'),
        grantOf('a', 'bob-2', 'write'),
        grantOf('a/b', 'bob', 'read'),
        grantOf('a/b', 'carol', 'write'),
        grantOf('a/b-c', 'bob', 'read'),
        grantOf('a/b.c', 'bob', 'read'),
        grantOf('a/bc', 'bob', 'read'),
        grantOf('a-b', 'bob', 'read'),
        grantOf('a.b/c', 'bob', 'read'),
        grantOf('ab', 'bob', 'read'),
        grantOf('ab/c', 'bob', 'read'),
      ]
      for (const grant of [...all.slice(6), ...all.slice(0, 6).reverse()]) await grants.set(grant)
      t.strictSame(await grants.list(), all, 'an owner’s before those of its repositories')
      t.strictSame(await grants.list('a'), all.slice(1, 9), 'of an owner, with its repositories')
      t.strictSame(await grants.list('ab'), all.slice(11))
      t.strictSame(await grants.list('a', repositoryNamed('a/b')), all.slice(4, 6), 'of a repository')
      t.strictSame(await grants.list('none'), [])
      t.strictSame(await grants.list('a', repositoryNamed('a/none')), [])
    },
  )
}

function keyOf(on: string, user: string): GrantKey {
  const [owner = '', name] = on.split('/')
  return { owner, ...(name !== undefined && { repository: repositoryNamed(on) }), user }
}

function grantOf(on: string, user: string, access: Grant['access']): Grant {
  return { ...keyOf(on, user), access }
}
