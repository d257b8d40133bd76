import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  pruneStore,
  type PruneFinding,
  type PruneDependencies,
  type PruneRequest,
} from '../../lib/admin/store-prune.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { runTask } from '../../lib/concurrency/task.js'
import type { Repository } from '../../lib/contracts/repositories.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { makeBareRepository, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { collect } from '../suites/store.js'

const NOTHING: PruneRequest = { goneCommits: false, goneRepositories: false, olderThan: null, remove: false }
const gone = commitId('c0ffee')
const exists = async () => await Promise.resolve(false)

interface Place extends PruneDependencies {
  readonly folder: string
  readonly store: LevelStore
}

async function place(t: Test): Promise<Place> {
  const folder = join(t.testdir({ repositories: {} }), 'repositories')
  const store = await LevelStore.open(join(t.testdirName, 'store'))
  const commits = new CommitFinder()
  t.teardown(async () => {
    commits.close()
    await store.close()
  })
  return {
    folder,
    store,
    contents: store.contents,
    repositories: new RepositoryFolder(folder, { topOwner: 'git' }),
    commits,
  }
}

async function prune(
  parts: PruneDependencies,
  request: Partial<PruneRequest>,
): Promise<{ findings: PruneFinding[]; statuses: number; kept: number }> {
  const findings: PruneFinding[] = []
  const counts = await runTask(
    pruneStore(parts, { ...NOTHING, ...request }),
    ({ items = [] }) => void findings.push(...items),
  )
  return { findings, ...counts }
}

/** A repository with a commit, of which and of another one there is a status. */
async function repositoryWith(place: Place, name: string): Promise<string> {
  const { sha } = await makeRepositoryWithCommit(place.folder, name)
  for (const commit of [commitId(sha), gone])
    for (const context of ['a', 'b'])
      await place.store.statuses.save(repositoryNamed(name), commit, reportOf(context), Date.now())
  return sha
}

async function left({ store }: Place, name: string): Promise<string[]> {
  return (await collect(store.statuses.scan(repositoryNamed(name)))).map(({ sha, context }) => `${sha} ${context}`)
}

t.test('In an empty store there is nothing to prune', async (t) => {
  const parts = await place(t)
  await makeRepository(parts.folder, 'alice/hello')
  t.strictSame(await prune(parts, { goneCommits: true, goneRepositories: true, remove: true }), {
    findings: [],
    statuses: 0,
    kept: 0,
  })
})

t.test('Statuses of commits that are gone from their repository go; nothing goes unless it is said', async (t) => {
  const parts = await place(t)
  const kept = await repositoryWith(parts, 'alice/hello')
  await parts.store.statuses.save(repositoryNamed('bob/none'), gone, reportOf('ci'), 0)
  const findings = [{ repository: 'alice/hello', reason: 'commit gone', statuses: 2 }]
  t.strictSame(await prune(parts, { goneCommits: true }), { findings, statuses: 2, kept: 0 })
  t.equal((await left(parts, 'alice/hello')).length, 4)
  t.strictSame(await prune(parts, { goneCommits: true, remove: true }), { findings, statuses: 2, kept: 0 })
  t.strictSame(await left(parts, 'alice/hello'), [`${kept} a`, `${kept} b`])
  t.equal((await left(parts, 'bob/none')).length, 1, 'a repository that is gone is another matter')
  t.strictSame(await prune(parts, { goneCommits: true, remove: true }), { findings: [], statuses: 0, kept: 0 })
})

t.test('Statuses of repositories that are gone go', async (t) => {
  const parts = await place(t)
  await repositoryWith(parts, 'alice/hello')
  for (const name of ['bob/x', 'bob/y']) await parts.store.statuses.save(repositoryNamed(name), gone, reportOf('ci'), 0)
  const findings = [
    { repository: 'bob/x', reason: 'repository gone', statuses: 1 },
    { repository: 'bob/y', reason: 'repository gone', statuses: 1 },
  ]
  t.strictSame(await prune(parts, { goneRepositories: true, remove: true }), { findings, statuses: 2, kept: 0 })
  t.strictSame([(await left(parts, 'alice/hello')).length, await left(parts, 'bob/x')], [4, []])
})

t.test('Statuses that were not updated for a time go, whatever became of their repository', async (t) => {
  const parts = await place(t)
  for (const at of [1000, 2000, 3000])
    await parts.store.statuses.save(repositoryNamed('bob/x'), gone, reportOf(`at ${at}`), at)
  t.match(await prune(parts, { olderThan: new Date(2000).toISOString(), remove: true }), {
    findings: [{ repository: 'bob/x', reason: 'older', statuses: 1 }],
    statuses: 1,
  })
  t.strictSame(await left(parts, 'bob/x'), [`${gone.hex} at 2000`, `${gone.hex} at 3000`])
})

t.test('Where there is not one repository, none is taken for gone', async (t) => {
  const parts = await place(t)
  const refusal = {
    name: 'AdministrationError',
    message: 'there is not one repository in the repositories folder: nothing is taken for gone',
  }
  await parts.store.statuses.save(repositoryNamed('bob/x'), gone, reportOf('ci'), 0)
  await t.rejects(prune(parts, { goneRepositories: true, remove: true }), refusal)
  await makeRepository(parts.folder, 'alice/hello')
  // The folder is unmounted after the prune has begun.
  const find = async (name: Parameters<RepositoryFolder['find']>[0]): Promise<Repository | undefined> => {
    rmSync(parts.folder, { recursive: true, force: true })
    mkdirSync(parts.folder)
    return await new RepositoryFolder(parts.folder, { topOwner: 'git' }).find(name)
  }
  await t.rejects(
    prune(
      { ...parts, repositories: { find, exists, list: () => parts.repositories.list() } },
      { goneRepositories: true, remove: true },
    ),
    refusal,
  )
  t.equal((await left(parts, 'bob/x')).length, 1)
})

t.test('A repository that is another one by now, while others are there, is still gone', async (t) => {
  const parts = await place(t)
  const [first, second] = [await makeRepository(parts.folder, 'alice/a'), await makeRepository(parts.folder, 'alice/b')]
  for (const name of ['bob/x', 'bob/y']) await parts.store.statuses.save(repositoryNamed(name), gone, reportOf('ci'), 0)
  let looks = 0
  const find = async (name: Parameters<RepositoryFolder['find']>[0]): Promise<Repository | undefined> => {
    if (++looks === 2) renameSync(first, `${second}-elsewhere`)
    return await new RepositoryFolder(parts.folder, { topOwner: 'git' }).find(name)
  }
  t.match(
    await prune(
      {
        ...parts,
        repositories: { find, exists, list: () => new RepositoryFolder(parts.folder, { topOwner: 'git' }).list() },
      },
      { goneRepositories: true },
    ),
    { statuses: 2 },
  )
})

t.test(
  'What cannot be read is kept, and said, for all of a repository at once; what is old goes all the same',
  async (t) => {
    const parts = await place(t)
    await repositoryWith(parts, 'alice/hello')
    const directory = await makeRepository(parts.folder, 'alice/broken')
    await Promise.all(
      Array.from({ length: 600 }, (_, index) =>
        parts.store.statuses.save(
          repositoryNamed('alice/broken'),
          gone,
          reportOf(`ci ${index}`),
          index < 10 ? 0 : Date.now(),
        ),
      ),
    )
    rmSync(join(directory, 'objects'), { recursive: true })
    let looks = 0
    const has: CommitFinder['has'] = async (...args) => {
      looks++
      return await parts.commits.has(...args)
    }
    const { findings, ...counts } = await prune(
      { ...parts, commits: { has, forget: () => undefined, close: () => undefined } },
      { goneCommits: true, goneRepositories: true, olderThan: new Date(1000).toISOString(), remove: true },
    )
    t.strictSame(counts, { statuses: 12, kept: 590 })
    t.match(findings, [
      { repository: 'alice/broken', reason: 'older', statuses: 10 },
      { repository: 'alice/broken', reason: 'kept', statuses: 590, because: `cannot read ${directory}` },
      { repository: 'alice/hello', reason: 'commit gone', statuses: 2 },
    ])
    t.equal(looks, 3, 'one for the repository that cannot be read')
    t.equal((await left(parts, 'alice/broken')).length, 590)
  },
)

t.test('A repository that cannot be looked up is not taken for gone', async (t) => {
  const parts = await place(t)
  await makeRepository(parts.folder, 'alice/hello')
  await parts.store.statuses.save(repositoryNamed('bob/x'), gone, reportOf('ci'), 0)
  const find = async (): Promise<never> => await Promise.reject(new Error('EACCES: permission denied'))
  t.match(
    await prune(
      { ...parts, repositories: { find, exists, list: () => parts.repositories.list() } },
      { goneRepositories: true, remove: true },
    ),
    {
      findings: [{ repository: 'bob/x', reason: 'kept', statuses: 1, because: 'EACCES: permission denied' }],
      statuses: 0,
      kept: 1,
    },
  )
})

// Whoever kept its hooks under version control lost the statuses of every repository in the folder.
t.test('A repository that lies inside another one, or a working tree, is not taken for gone', async (t) => {
  const parts = await place(t)
  await makeRepository(parts.folder, 'alice/hello')
  for (const path of ['tree/sub/deep.git', 'bare/sub/plain']) await makeBareRepository(join(parts.folder, path))
  for (const name of ['tree/sub/deep', 'bare/sub/plain', 'tree/sub/gone'])
    await parts.store.statuses.save(repositoryNamed(name), gone, reportOf('ci'), 0)
  mkdirSync(join(parts.folder, 'tree/.git'))
  await makeBareRepository(join(parts.folder, 'bare'))
  const because = 'is still there, inside another repository or a working tree'
  t.strictSame(await prune(parts, { goneRepositories: true, remove: true }), {
    findings: [
      { repository: 'bare/sub/plain', reason: 'kept', statuses: 1, because: `bare/sub/plain ${because}` },
      { repository: 'tree/sub/deep', reason: 'kept', statuses: 1, because: `tree/sub/deep ${because}` },
      { repository: 'tree/sub/gone', reason: 'repository gone', statuses: 1 },
    ],
    statuses: 1,
    kept: 2,
  })
})

t.test('What lies beside the repositories and cannot be read is no reason to refuse', async (t) => {
  const parts = await place(t)
  await makeRepository(parts.folder, 'alice/hello')
  symlinkSync('loop', join(parts.folder, 'loop'))
  await parts.store.statuses.save(repositoryNamed('bob/x'), gone, reportOf('ci'), 0)
  t.match(await prune(parts, { goneRepositories: true, remove: true }), { statuses: 1, kept: 0 })
})

t.test('What no commit can be is kept', async (t) => {
  const parts = await place(t)
  await makeRepository(parts.folder, 'alice/hello')
  const { status } = await parts.store.statuses.save(repositoryNamed('alice/hello'), gone, reportOf('ci'), 0)
  const pages = async function* () {
    yield {
      statuses: [{ repository: repositoryNamed('alice/hello'), status: { ...status, sha: 'main' } }],
      share: undefined,
    }
  }
  const { contents } = parts
  t.match(
    await prune(
      {
        ...parts,
        contents: {
          pages,
          merge: (name) => contents.merge(name),
          remove: async (...args) => await contents.remove(...args),
          bytes: async () => await contents.bytes(),
        },
      },
      { goneCommits: true, remove: true },
    ),
    { kept: 1, findings: [{ because: 'main is no commit id' }] },
  )
})

t.test('A status that is reported while it is looked at stays', async (t) => {
  const parts = await place(t)
  await repositoryWith(parts, 'alice/hello')
  const has: CommitFinder['has'] = async (directory, id, identity) => {
    const found = await parts.commits.has(directory, id, identity)
    if (!found)
      await parts.store.statuses.save(
        repositoryNamed('alice/hello'),
        gone,
        reportOf('b', { state: 'pending' }),
        Date.now(),
      )
    return found
  }
  const { statuses } = await prune(
    { ...parts, commits: { has, forget: () => undefined, close: () => undefined } },
    { goneCommits: true, remove: true },
  )
  t.equal(statuses, 1)
  t.match(await parts.store.statuses.list(repositoryNamed('alice/hello'), gone), [{ context: 'b', state: 'pending' }])
})
