import type { Test } from 'tap'
import type { Reporter } from '../../lib/domain/commit-status.js'
import type { Store } from '../../lib/contracts/store.js'
import { Reporters } from '../../lib/domain/status-list.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'
import { collect, openedStore, type StoreFactory } from './store.js'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')
const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

async function save(store: Store, context: string, user: string | undefined, description?: string): Promise<void> {
  const reporter: Reporter | undefined = user === undefined ? undefined : { user, token: null }
  const more = { ...(description !== undefined && { description }), ...(reporter && { reporter }) }
  await store.statuses.save(repository, commit, reportOf(context, more), NOON)
}

/** Who reported is told beside the list that is sent, and changes nothing of it. */
export function reporterSuite(t: Test, factory: StoreFactory): void {
  t.test('Beside the list that is sent stands who reported each status, read again or not', async (t) => {
    const place = await factory(t)
    let store = await place.open()
    const users = ['ci', undefined, 'é "x",\n\u{1f600},"reporter":{"user":"y"}', '\\', 'a\0b', 'host', '"user":"z"']
    for (const [index, user] of users.entries()) await save(store, `check ${index}`, user)
    const first = await wholeList(store, repository, commit)
    t.strictSame(first.reporters.users, users)
    await save(store, 'check 0', 'other')
    await save(store, 'check 10', 'another')
    await save(store, 'check 5', undefined)
    const edited = await wholeList(store, repository, commit)
    // `check 10` comes after `check 1`.
    const now = ['other', undefined, 'another', users[2], users[3], users[4], undefined, users[6]]
    t.strictSame(edited.reporters.users, now)
    await store.close()
    store = await place.open()
    const again = await wholeList(store, repository, commit)
    t.strictSame(again.reporters.users, edited.reporters.users)
    t.strictSame([again.digest, again.reporters.digest], [edited.digest, edited.reporters.digest])
  })

  t.test('Another reporter of the same report is another digest beside the same list', async (t) => {
    const store = await openedStore(t, factory)
    await save(store, 'build', 'alice')
    await save(store, 'test', 'alice')
    const before = await wholeList(store, repository, commit)
    await save(store, 'build', 'bob')
    const after = await wholeList(store, repository, commit)
    t.strictSame([after.bytes.toString(), after.digest], [before.bytes.toString(), before.digest])
    t.not(after.reporters.digest, before.reporters.digest)
    await save(store, 'build', 'alice')
    await save(store, 'test', 'bob')
    t.not((await wholeList(store, repository, commit)).reporters.digest, after.reporters.digest, 'of another status')
    await save(store, 'test', 'alice')
    t.equal((await wholeList(store, repository, commit)).reporters.digest, before.reporters.digest)
  })

  t.test('A list that is too large for the memory tells the same', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const users = Array.from({ length: 110 }, (_, index) => [undefined, 'alice', 'robert'][index % 3])
    const saved = users.map(async (user, index) => {
      await save(store, `check ${String(index).padStart(3, '0')}`, user, '\u0001'.repeat(1000))
    })
    await Promise.all(saved)
    const list = await store.statuses.serialised?.(repository, commit)
    if (!list) return
    t.equal(list.bytes !== undefined, place.withoutLargeLists === true)
    t.strictSame(
      (await collect(list.pages())).flat().map((status) => status.parse().reporter?.user),
      users,
    )
    t.equal(list.reporters.digest, new Reporters(users).digest)
    t.notMatch(Buffer.concat(await collect(list.chunks())).toString(), /alice|robert|reporter/)
    await list.close()
  })
}
