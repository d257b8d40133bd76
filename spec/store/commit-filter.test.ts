import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CommitFilter } from '../../lib/store/level/commit-filter.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { within } from '../fixtures/within.js'

/** A key of a status of a commit, of which there is one for each number. */
function keyOf(number: number): string {
  return `alice/hello/${createHash('sha1').update(String(number)).digest('hex')}/ci`
}

function keysOf(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => keyOf(first + index))
}

async function* pages(...all: string[][]): AsyncGenerator<string[]> {
  for (const page of all) yield await Promise.resolve(page)
}

t.test('Of 300,000 commits that are noted none is lacking, of as many others nearly all are', (t) => {
  const filter = new CommitFilter(() => pages(), true)
  for (const key of keysOf(0, 300_000)) filter.note(key)
  t.strictSame(
    keysOf(0, 300_000).filter((key) => filter.lacks(key)),
    [],
  )
  const others = keysOf(1_000_000, 300_000).filter((key) => !filter.lacks(key)).length
  t.ok(others < 6000, `${others} others seem to be there`)
  filter.note('!grant/alice')
  t.end()
})

t.test('What was there is known once all of it has been read, once', async (t) => {
  let readings = 0
  const filter = new CommitFilter(() => {
    readings++
    return pages(keysOf(0, 1000), keysOf(1000, 1000))
  }, false)
  t.equal(readings, 0, 'nothing is read before somebody asks')
  t.equal(filter.lacks(keyOf(5000)), false, 'nothing is certain until then')
  t.ok(await within(10_000, () => filter.lacks(keyOf(5000))))
  t.notOk(keysOf(0, 2000).some((key) => filter.lacks(key)))
  t.equal(readings, 1)
})

t.test('Where what was there cannot be read, nothing is certain', async (t) => {
  let readings = 0
  const filter = new CommitFilter(async function* () {
    readings++
    yield await Promise.resolve(keysOf(0, 10))
    throw new Error('damaged')
  }, false)
  for (let turn = 0; turn < 10; turn++) {
    t.equal(filter.lacks(keyOf(5000)), false)
    await setImmediate()
  }
  t.equal(readings, 1, 'nor is it read again')
})

async function openStore(t: Test, folder: string): Promise<LevelStore> {
  const store = await LevelStore.open(folder)
  t.teardown(async () => {
    await store.close()
  })
  return store
}

t.test(
  'A commit without statuses is known without a read, in a new store and in one that is opened again',
  async (t) => {
    const folder = join(t.testdir({}), 'store')
    const [alice, bob] = [repositoryNamed('alice/hello'), repositoryNamed('bob/team/hello')]
    const [commit, other] = [commitId('c0ffee'), commitId('decade')]
    const summary = async (store: LevelStore, of = commit, repository = alice): Promise<number> =>
      (await store.statuses.serialised(repository, of)).summary.statuses
    const isKnown = (store: LevelStore): boolean => {
      const list = store.statuses.serialised(bob, other)
      return !(list instanceof Promise)
    }
    const first = await openStore(t, folder)
    t.ok(isKnown(first), 'of a new store at once')
    t.equal(await summary(first), 0)
    await first.statuses.save(alice, commit, reportOf('ci'), 0)
    t.equal(await summary(first), 1)
    await first.close()

    const second = await openStore(t, folder)
    t.equal(await summary(second), 1)
    t.ok(await within(10_000, () => isKnown(second)), 'of another one once its keys have been read')
    t.equal(await summary(second, commit, bob), 0, 'a fork has the commit without its statuses')
    const third = commitId('facade')
    await Promise.all([0, 1].map(async (at) => await second.statuses.save(alice, third, reportOf('ci'), at)))
    t.equal(await summary(second, third), 1, 'one that is reported and replaced at once is there')
    await second.renameRepository(alice, bob)
    t.equal(await summary(second, commit, bob), 1)
    t.equal(await summary(second), 0)
    const merge = second.contents.merge(alice)
    await merge.add(await second.statuses.list(bob, commit), [])
    t.equal(await summary(second), 0, 'what is not committed is not there')
    await merge.commit()
    t.equal(await summary(second), 1)
    t.equal(await second.statuses.remove(alice, commit, undefined), 1)
    t.equal(await summary(second), 0)
  },
)
