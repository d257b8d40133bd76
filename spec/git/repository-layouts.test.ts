import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { warnOfSkipped } from '../../lib/embedding/warn-of-skipped.js'
import { listRepositories, newTurn } from '../../lib/git/repository-listing.js'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'
import { git, makeBareRepository } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { recordedLooks } from '../fixtures/recorded-looks.js'
import { slowPace } from '../fixtures/slow-pace.js'

/** Every way to look: at once, and waiting. */
const paces = () => [new SyncWhileFast(), slowPace()]

async function whereIs(folder: string, name: string, only?: 'public'): Promise<string | undefined> {
  const found = await Promise.all(
    paces().map(
      async (pace) => await new RepositoryFolder(folder, { topOwner: 'git', pace }).find(repositoryNamed(name), only),
    ),
  )
  const [one, other] = found.map((each) => each?.directory.slice(folder.length + 1))
  if (one !== other) throw new Error(`${name} is at ${one ?? 'no place'}, and at ${other ?? 'no place'}`)
  return one
}

async function namesIn(folder: string): Promise<string[]> {
  return (await new RepositoryFolder(folder, { topOwner: 'git' }).names()).map(({ full }) => full)
}

async function made(folder: string, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) await makeBareRepository(join(folder, path))
}

t.test('Repositories are found as they lie: owner/repo.git, repo.git, deeper ones, and without .git', async (t) => {
  const folder = t.testdir()
  await made(folder, 'alice/hello.git', 'project.git', 'team/sub/deep.git', 'libstdc++.git', 'plain', 'alice/bare')
  const places = {
    'alice/bare': 'alice/bare',
    'alice/hello': 'alice/hello.git',
    'git/libstdc++': 'libstdc++.git',
    'git/plain': 'plain',
    'git/project': 'project.git',
    'team/sub/deep': 'team/sub/deep.git',
  }
  for (const [name, place] of Object.entries(places)) t.equal(await whereIs(folder, name), place, name)
  t.strictSame(await namesIn(folder), Object.keys(places))
  for (const name of [
    'git/hello',
    'alice/project',
    'team/sub',
    'team/deep',
    'sub/deep',
    'git/team/sub/deep',
    'git/sub/deep',
  ])
    t.equal(await whereIs(folder, name), undefined, name)
})

t.test('A setting names the owner of those at the top', async (t) => {
  const folder = t.testdir()
  await made(folder, 'project.git')
  const repositories = new RepositoryFolder(folder, { topOwner: 'us' })
  t.match(await repositories.find(repositoryNamed('us/project')), { directory: join(folder, 'project.git') })
  t.equal(await repositories.find(repositoryNamed('git/project')), undefined)
  t.strictSame(
    (await repositories.names()).map(({ full }) => full),
    ['us/project'],
  )
})

t.test('Eight levels, and no more', async (t) => {
  const folder = t.testdir()
  await made(folder, '1/2/3/4/5/6/7/8.git', '1/2/3/4/5/6/7/x', '1/2/3/4/5/6/7/y/9.git', '1/2/3/4/5/6/7/z/9')
  const eight = ['1/2/3/4/5/6/7/8', '1/2/3/4/5/6/7/x']
  t.strictSame(await namesIn(folder), eight)
  for (const name of eight) t.ok(await whereIs(folder, name), name)
  const { skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing()
  t.strictSame(skipped, [
    { path: '1/2/3/4/5/6/7/y/9.git', reason: 'deeper than 8 folders' },
    { path: '1/2/3/4/5/6/7/z/9', reason: 'deeper than 8 folders' },
  ])
})

t.test('Of two with one name the earlier line of the list wins, and the other is said', async (t) => {
  const folder = t.testdir()
  const order = ['git/x.git', 'x.git', 'git/x', 'x']
  await made(folder, ...order)
  for (const [index, place] of order.entries()) {
    t.equal(await whereIs(folder, 'git/x'), place)
    const { found, skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing()
    t.strictSame(
      found.map(({ name, directory }) => [name.full, directory]),
      [['git/x', join(folder, place)]],
    )
    t.strictSame(
      skipped,
      order.slice(index + 1).map((path) => ({ path, reason: `${place} has its name, git/x` })),
    )
    rmSync(join(folder, place), { recursive: true })
  }
  await made(folder, 'a/b/c.git', 'a/b/c')
  t.equal(await whereIs(folder, 'a/b/c'), 'a/b/c.git')
})

t.test('What is private hides what is public and has its name', async (t) => {
  const folder = t.testdir()
  await made(folder, 'git/x.git', 'x.git', 'a/b.git', 'a/b')
  for (const place of ['x.git', 'a/b']) writeFileSync(join(folder, place, 'git-daemon-export-ok'), '')
  t.equal(await whereIs(folder, 'git/x', 'public'), undefined)
  t.equal(await whereIs(folder, 'a/b', 'public'), undefined)
  rmSync(join(folder, 'git/x.git'), { recursive: true })
  t.equal(await whereIs(folder, 'git/x', 'public'), 'x.git')
  rmSync(join(folder, 'a/b.git'), { recursive: true })
  t.equal(await whereIs(folder, 'a/b', 'public'), 'a/b')
})

t.test('Nothing is looked for inside a repository: whoever may push cannot make one there', async (t) => {
  const folder = t.testdir()
  await made(folder, 'plain', 'team/plain', 'named.git')
  // As refs are files, a push can make these, with any content that looks like an id.
  for (const inside of ['plain/refs', 'plain/refs/heads/x.git', 'team/plain/refs', 'named.git/refs']) {
    for (const name of ['objects', 'refs']) mkdirSync(join(folder, inside, name), { recursive: true })
    writeFileSync(join(folder, inside, 'HEAD'), `${'0'.repeat(40)}\n`)
    writeFileSync(join(folder, inside, 'git-daemon-export-ok'), '')
  }
  t.strictSame(await namesIn(folder), ['git/named', 'git/plain', 'team/plain'])
  for (const name of ['plain/refs', 'plain/refs/heads/x', 'team/plain/refs', 'team/plain/refs/x'])
    for (const only of ['public', undefined] as const) t.equal(await whereIs(folder, name, only), undefined, name)
})

t.test('Nor inside a working tree, of which a commit may hold a folder like one', async (t) => {
  const folder = t.testdir({ team: {} })
  await git('init', '--quiet', join(folder, 'team/work'))
  await made(folder, 'team/work/vendor/x.git', 'team/work/y')
  t.strictSame(await namesIn(folder), [])
  for (const name of ['team/work', 'team/work/vendor/x', 'team/work/y']) t.equal(await whereIs(folder, name), undefined)
  const { skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing()
  t.strictSame(skipped, [{ path: 'team/work', reason: 'a working tree, not a bare repository' }])
})

t.test('What lies there and is not served is named, each with its reason', async (t) => {
  const folder = t.testdir({ 'lost+found': {}, 'no repository at all': {}, 'a file.git': '', '.ssh': {} })
  await made(
    folder,
    'with blank.git',
    'with blank/x.git',
    'other blank',
    'é.git',
    '.hidden.git',
    '-dash.git',
    'x.lock',
    `${'a'.repeat(101)}.git`,
    'ok.git',
  )
  const { found, skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing()
  t.equal(found.length, 1)
  t.strictSame(skipped, [
    { path: '-dash.git', reason: 'its name begins with -' },
    { path: '.hidden.git', reason: 'its name begins with .' },
    { path: `${'a'.repeat(101)}.git`, reason: 'its name is longer than 100 characters' },
    { path: 'other blank', reason: 'a blank in its name' },
    { path: 'with blank', reason: 'a blank in its name' },
    { path: 'with blank.git', reason: 'a blank in its name' },
    { path: 'x.lock', reason: 'its name ends in .git or .lock' },
    { path: 'é.git', reason: '"é" in its name' },
  ])
})

t.test('What cannot be read is named too', async (t) => {
  const folder = t.testdir({ team: {} })
  symlinkSync('loop', join(folder, 'team/loop'))
  const { skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing(() => undefined)
  t.strictSame(skipped, [{ path: 'team/loop', reason: 'it cannot be read by the user of the service' }])
})

t.test('A listing has an end: in time, and in what it looks at', async (t) => {
  const folder = t.testdir()
  for (let number = 0; number < 500; number++) mkdirSync(join(folder, `${number}/a/b`), { recursive: true })
  await made(folder, '0/x.git')
  const options = { topOwner: 'git', onUnreadable: () => undefined }
  await t.rejects(listRepositories(folder, { ...options, milliseconds: 0 }), /takes longer than 0 s$/)
  const turn = newTurn()
  const late = { ...options, turn, milliseconds: 0 }
  // The second one has no time left when the first gives the disk free, and does not ask it any more.
  for (const outcome of await Promise.allSettled([listRepositories(folder, late), listRepositories(folder, late)]))
    t.match(outcome, { status: 'rejected' })
  const { found, skipped } = await listRepositories(folder, { ...options, turn, maxEntries: 500 })
  t.strictSame(
    [found, skipped],
    [[], [{ path: '0', reason: 'more than 500 files and folders: what follows is left out' }]],
  )
})

t.test('At the start a folder that cannot be listed is said in the log', async (t) => {
  const log: unknown[] = []
  const warn = (...line: unknown[]): void => void log.push(line)
  const missing = new RepositoryFolder(join(t.testdir(), 'missing'), { topOwner: 'git' })
  await warnOfSkipped(missing, { ...silentLogger, warn })
  t.match(log, [[{ err: { code: 'ENOENT' }, folder: missing.path }, 'the repositories cannot be listed']])
  const folder = new RepositoryFolder(t.testdirName, { topOwner: 'git' })
  await warnOfSkipped(folder, { ...silentLogger, warn })
  t.equal(log.length, 1, 'and nothing where all is served')
  mkdirSync(join(folder.path, 'a b.git'))
  await warnOfSkipped(folder, { ...silentLogger, warn })
  t.match(log[1], [{ folder: folder.path }, 'not served: "a b.git" (a blank in its name)'])
})

t.test('A folder of repositories that is one itself has none', async (t) => {
  const folder = t.testdir()
  await made(folder, '.', 'x.git')
  const { found, skipped } = await new RepositoryFolder(folder, { topOwner: 'git' }).listing()
  t.strictSame(found, [])
  t.match(skipped, [{ path: '', reason: 'it is a repository itself, in which no others are looked for' }])
})

t.test('Links lead to repositories and to folders of them, and never around', async (t) => {
  const folder = t.testdir({ team: {}, elsewhere: {} })
  const repositories = join(folder, 'repositories')
  await made(folder, 'elsewhere/group/x.git', 'repositories/a/b/c.git')
  symlinkSync(join(folder, 'elsewhere/group'), join(repositories, 'a/linked'))
  for (const target of ['.', '..', '../..', '../b'])
    symlinkSync(target, join(repositories, 'a/b', `to${target.length}`))
  t.strictSame(await namesIn(repositories), ['a/b/c', 'a/linked/x'])
  t.equal(await whereIs(repositories, 'a/linked/x'), 'a/linked/x.git')
})

t.test('A private repository takes as many looks as a missing one, wherever it lies', async (t) => {
  const folder = t.testdir()
  const places = {
    'git/x': ['git/x.git', 'x.git', 'git/x', 'x'],
    'a/x': ['a/x.git', 'a/x'],
    'a/b/c/x': ['a/b/c/x.git', 'a/b/c/x'],
  }
  for (const pace of paces()) {
    for (const [name, candidates] of Object.entries(places)) {
      mkdirSync(join(folder, name, '..'), { recursive: true })
      const missing = await looksFor(folder, name, pace)
      for (const place of candidates) {
        await made(folder, place)
        t.strictSame(await looksFor(folder, name, pace), missing, place)
        rmSync(join(folder, place), { recursive: true })
      }
    }
  }
})

async function looksFor(folder: string, name: string, pace: SyncWhileFast): Promise<string[]> {
  const { looks, files } = recordedLooks(folder)
  const found = await new RepositoryFolder(folder, { topOwner: 'git', files, pace }).find(
    repositoryNamed(name),
    'public',
  )
  if (found) throw new Error(`${name} is not private`)
  return looks
}

t.test('Wherever it lies, one is made public, private and renamed', async (t) => {
  const folder = t.testdir()
  await made(folder, 'project.git', 'team/sub/deep.git', 'plain')
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  for (const [name, place] of [
    ['git/project', 'project.git'],
    ['team/sub/deep', 'team/sub/deep.git'],
    ['git/plain', 'plain'],
  ] as const) {
    t.equal(await repositories.setPublic(repositoryNamed(name), true), true)
    t.equal(readFileSync(join(folder, place, 'git-daemon-export-ok'), 'utf8'), '')
    t.equal(await whereIs(folder, name, 'public'), place)
    t.equal(await repositories.setPublic(repositoryNamed(name), false), true)
    t.notOk(existsSync(join(folder, place, 'git-daemon-export-ok')))
  }
  renameSync(join(folder, 'project.git'), join(folder, 'other.git'))
  t.equal(await whereIs(folder, 'git/project'), undefined)
  t.equal(await whereIs(folder, 'git/other'), 'other.git')
})
