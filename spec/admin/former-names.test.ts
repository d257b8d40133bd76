import { join } from 'node:path'
import t from 'tap'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import type { RepositoryName } from '../../lib/domain/repository-name.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { administrationOn } from '../fixtures/local-administration.js'
import { commitId } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { itemsOf, resultOf } from '../fixtures/work.js'

const commit = commitId('c0ffee')

// Version 0.1.0 took such names, and what is stored of them was called damage: nothing could be exported any more.
t.test('What is stored of a name that can no longer be given is counted, moved and removed', async (t) => {
  const folder = t.testdir({ repositories: {} })
  await makeRepositoryWithCommit(join(folder, 'repositories'), 'bob/there')
  const repositories = new RepositoryFolder(join(folder, 'repositories'), { topOwner: 'git' })
  const placeOf = async (name: string) => {
    const store = await LevelStore.open(join(folder, name))
    t.teardown(async () => {
      await store.close()
    })
    return { store, admin: administrationOn(store, { repositories, commits: new CommitFinder() }) }
  }
  const former = (owner: string, name: string): RepositoryName => {
    const full = `${owner}/${name}`
    return { owner, name, full, escaped: full }
  }
  const [from, to] = [await placeOf('one'), await placeOf('two')]
  for (const repository of [former('alice.git', 'hello'), former('alice', 'hello.lock'), former('carol.git', 'x')])
    await from.store.statuses.save(repository, commit, reportOf('build'), 0)
  await from.store.grants.set({ owner: 'alice.git', user: 'bob', access: 'read' })
  await from.store.grants.set({
    owner: 'alice.git',
    repository: former('alice.git', 'hello'),
    user: 'bob',
    access: 'write',
  })

  t.match(await resultOf(from.admin.verifyStore()), { statuses: 3, grants: 2, damaged: 0 })
  t.match(await resultOf(from.admin.storeStatistics(5)), { repositories: 3, statuses: 3 })
  t.strictSame(
    (await from.admin.listAccess(null)).map(({ on }) => on),
    ['alice.git', 'alice.git/hello'],
  )
  const lines = await itemsOf(from.admin.exportStore(null))
  t.match(
    await resultOf(
      to.admin.importStore(
        (async function* () {
          yield* await Promise.resolve(lines)
        })(),
      ),
    ),
    { statuses: 3, grants: 2 },
  )
  t.strictSame(await itemsOf(to.admin.exportStore(null)), lines)

  const prune = { goneCommits: false, goneRepositories: true, olderThan: null, remove: false }
  t.strictSame(
    (await itemsOf(from.admin.pruneStore(prune))).map(({ repository, reason }) => [repository, reason]),
    ['alice.git/hello', 'alice/hello.lock', 'carol.git/x'].map((repository) => [repository, 'repository gone']),
  )
  await to.admin.renameRepository('alice.git/hello', 'alice/hello')
  t.strictSame(await to.admin.deleteRepository('alice/hello.lock'), { statuses: 1, grants: 0 })
  await t.rejects(to.admin.renameRepository('carol.git/x', 'carol.git/y'), /no repository name/)
  await t.rejects(to.admin.deleteRepository('carol.git'), /no repository name/)
  t.strictSame(
    (await itemsOf(to.admin.listStatuses('alice/hello', null))).map(({ context }) => context),
    ['build'],
  )
})
