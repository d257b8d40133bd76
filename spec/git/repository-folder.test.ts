import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { fileSystem, RepositoryFolder, type FileSystem } from '../../lib/git/repository-folder.js'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'
import { repositoryName, type RepositoryName } from '../../lib/domain/repository-name.js'
import { makeRepository } from '../fixtures/git.js'
import { recordedLooks } from '../fixtures/recorded-looks.js'
import { slowPace } from '../fixtures/slow-pace.js'

function nameOf(owner: string, name: string): RepositoryName {
  const taken = repositoryName(owner, name)
  if (!taken) throw new TypeError(`${owner}/${name} is no name`)
  return taken
}

async function listOf(repositories: RepositoryFolder): Promise<Record<string, boolean>> {
  const listed: Record<string, boolean> = {}
  for await (const { name, public: isPublic } of repositories.list()) listed[name.full] = isPublic
  return listed
}

const hello = nameOf('alice', 'hello')

t.test('<repositories>/<owner>/<repo>.git is the repository <owner>/<repo>', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  t.match(await repositories.find(hello), { directory, public: false })
  t.equal(await repositories.find(nameOf('alice', 'Hello')), undefined, 'letter case counts')
  t.equal(await repositories.find(nameOf('alice', 'other')), undefined)
  t.equal(await repositories.find(nameOf('bob', 'hello')), undefined)
})

t.test('The directory of a repository is an absolute path', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  t.equal(
    (await new RepositoryFolder(relative(process.cwd(), folder), { topOwner: 'git' }).find(hello))?.directory,
    directory,
  )
})

t.test('A repository that comes or goes is seen at once', async (t) => {
  const folder = t.testdir()
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  t.equal(await repositories.find(hello), undefined)
  const directory = await makeRepository(folder, 'alice/hello')
  t.ok(await repositories.find(hello))
  rmSync(directory, { recursive: true })
  t.equal(await repositories.find(hello), undefined)
})

t.test('Whoever may see public ones only is told of a private one as of a missing one, in one look', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const mark = join(directory, 'git-daemon-export-ok')
  for (const pace of [new SyncWhileFast(), slowPace()]) {
    const { looks, files } = recordedLooks(folder)
    const repositories = new RepositoryFolder(folder, { topOwner: 'git', files, pace })
    const looksOf = async (name: string): Promise<string[]> => {
      t.equal(await repositories.find(nameOf('alice', name), 'public'), undefined)
      return looks.splice(0).map((path) => path.replace(name, 'NAME'))
    }
    t.strictSame(await looksOf('hello'), await looksOf('other'))
    writeFileSync(mark, '')
    t.match(await repositories.find(hello, 'public'), { directory, public: true })
    rmSync(mark)
  }
})

t.test('A repository is public exactly while git-daemon-export-ok stands in it', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const [mark, repositories] = [
    join(directory, 'git-daemon-export-ok'),
    new RepositoryFolder(folder, { topOwner: 'git' }),
  ]
  for (let round = 0; round < 3; round++) {
    t.equal((await repositories.find(hello))?.public, false)
    writeFileSync(mark, '')
    t.equal((await repositories.find(hello))?.public, true)
    rmSync(mark)
  }
  mkdirSync(mark)
  t.equal((await repositories.find(hello))?.public, true, 'git takes a folder of this name as well')
  rmSync(mark, { recursive: true })
  symlinkSync('nowhere', mark)
  t.equal((await repositories.find(hello))?.public, false, 'and no link that leads nowhere')
  rmSync(mark)
  symlinkSync(mark, mark)
  t.equal((await repositories.find(hello))?.public, false, 'what cannot be determined is private')
  writeFileSync(join(folder, 'git-daemon-export-ok'), '')
  writeFileSync(join(folder, 'alice/git-daemon-export-ok'), '')
  t.equal((await repositories.find(hello))?.public, false, 'the mark of another folder does not count')
})

t.test('A repository may be a link to one; a link in a circle cannot be looked up', async (t) => {
  const folder = t.testdir({ alice: {} })
  const elsewhere = await makeRepository(folder, 'elsewhere/hello', { public: true })
  symlinkSync(elsewhere, join(folder, 'alice/hello.git'))
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  t.match(await repositories.find(hello), { directory: join(folder, 'alice/hello.git'), public: true })
  symlinkSync('circle.git', join(folder, 'alice/circle.git'))
  await t.rejects(async () => await repositories.find(nameOf('alice', 'circle')), { code: 'ELOOP' })
})

t.test(
  'Files, and folders that have neither .git at their end nor a repository in them, are no repositories',
  async (t) => {
    const folder = t.testdir({
      alice: { 'file.git': '', plain: { HEAD: '' }, 'folder.git': {} },
      bob: '',
      'carol.git': { HEAD: '' },
    })
    const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
    t.equal(await repositories.find(nameOf('alice', 'file')), undefined)
    t.equal(await repositories.find(nameOf('alice', 'plain')), undefined)
    t.equal(await repositories.find(nameOf('bob', 'hello')), undefined, 'an owner that is a file')
    t.match(
      await repositories.find(nameOf('alice', 'folder')),
      { directory: join(folder, 'alice/folder.git'), public: false },
      'any folder of such a name is one: what is wrong with it shows when it is read',
    )
    t.equal(await repositories.find(nameOf('alice', 'plain/x')), undefined)
    t.strictSame(await listOf(repositories), { 'alice/folder': false, 'git/carol': false })
  },
)

t.test('The list is in the order of owner and name, and has what find() finds', async (t) => {
  const names = [
    'Zoe/a',
    'alice/a',
    'alice/a-b',
    'alice/a.b',
    'alice/a0',
    'alice/ab',
    'alice/b',
    'alice.x/a',
    'bob/1',
    'bob/10',
    'bob/2',
    'bob/A',
    'bob/_',
  ]
  const folder = t.testdir()
  for (const name of names.toReversed()) mkdirSync(join(folder, `${name}.git`), { recursive: true })
  for (const name of [
    '.hidden/a',
    'lost+found/a',
    'alice/.hidden',
    'alice/-dash',
    'alice/x.lock',
    'alice/y.git',
    'alice/a b',
  ])
    mkdirSync(join(folder, `${name}.git`), { recursive: true })
  writeFileSync(join(folder, 'bob/10.git/git-daemon-export-ok'), '')
  const listed = await listOf(new RepositoryFolder(folder, { topOwner: 'git' }))
  t.strictSame(Object.keys(listed), names)
  t.strictSame(
    Object.keys(listed).filter((name) => listed[name]),
    ['bob/10'],
  )
})

t.test('The list of a folder without repositories is empty; without the folder there is none', async (t) => {
  const folder = t.testdir({ alice: {} })
  t.strictSame(await listOf(new RepositoryFolder(folder, { topOwner: 'git' })), {})
  await t.rejects(listOf(new RepositoryFolder(join(folder, 'missing'), { topOwner: 'git' })), { code: 'ENOENT' })
})

t.test('A repository is made public and private, more than once, and without harm to the mark', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const [mark, repositories] = [
    join(directory, 'git-daemon-export-ok'),
    new RepositoryFolder(folder, { topOwner: 'git' }),
  ]
  for (const isPublic of [true, true, false, false, true]) {
    t.equal(await repositories.setPublic(hello, isPublic), true)
    t.equal((await repositories.find(hello))?.public, isPublic)
  }
  writeFileSync(mark, 'a remark of the admin')
  await repositories.setPublic(hello, true)
  t.equal(readFileSync(mark, 'utf8'), 'a remark of the admin')
  rmSync(mark)
  symlinkSync(join(folder, 'elsewhere'), mark)
  await t.rejects(repositories.setPublic(hello, true), /is a link that leads nowhere: remove it first/)
  t.notOk(existsSync(join(folder, 'elsewhere')), 'nothing is made where it leads')
  rmSync(mark)
  symlinkSync(mark, mark)
  await t.rejects(repositories.setPublic(hello, true), { code: 'ELOOP' })
  rmSync(mark)
  writeFileSync(mark, '')
  t.equal(await repositories.setPublic(nameOf('alice', 'missing'), true), false)
  t.strictSame(await listOf(repositories), { 'alice/hello': true }, 'nothing is made of a repository that is not there')
})

t.test('Looked up without waiting or with, a repository is the same, and so is what fails', async (t) => {
  const folder = t.testdir({ alice: { 'file.git': '', 'folder.git': {} } })
  await makeRepository(folder, 'alice/hello')
  await makeRepository(folder, 'alice/open', { public: true })
  const circle = join(folder, 'alice/circle.git')
  symlinkSync(circle, circle)
  const [quick, slow] = [
    new RepositoryFolder(folder, { topOwner: 'git' }),
    new RepositoryFolder(folder, { topOwner: 'git', pace: slowPace() }),
  ]
  for (const name of ['hello', 'open', 'file', 'folder', 'missing']) {
    const [found, later] = [quick.find(nameOf('alice', name)), slow.find(nameOf('alice', name))]
    t.notOk(found instanceof Promise)
    t.ok(later instanceof Promise)
    t.strictSame(await later, found, name)
  }
  const looped = nameOf('alice', 'circle')
  t.throws(() => quick.find(looped), { code: 'ELOOP' })
  await t.rejects(async () => await slow.find(looped), { code: 'ELOOP' })
})

t.test('A file system that answers slowly is waited for once, and then holds up nobody', async (t) => {
  const folder = t.testdir()
  await makeRepository(folder, 'alice/hello')
  let [now, synchronous] = [0, 0]
  const files: FileSystem = {
    ...fileSystem,
    statSync: (path) => {
      synchronous++
      now += 60_000
      return fileSystem.statSync(path)
    },
  }
  const repositories = new RepositoryFolder(folder, { topOwner: 'git', files, pace: new SyncWhileFast(() => now) })
  t.notOk(repositories.find(hello) instanceof Promise)
  t.equal(synchronous, 2)
  for (let time = 0; time < 100; time++) t.match(await repositories.find(hello), { public: false })
  t.equal(synchronous, 2)
})

t.test('What cannot be read ends a listing, or is told to who asks for it', async (t) => {
  const folder = t.testdir()
  await makeRepository(folder, 'alice/hello')
  for (const loop of [join(folder, 'bob'), join(folder, 'alice/a.git')]) symlinkSync(loop, loop)
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  await t.rejects(listOf(repositories), { code: 'ELOOP' })
  const [listed, told]: [string[], unknown[]] = [[], []]
  for await (const { name } of repositories.list((error) => told.push(error))) listed.push(name.full)
  t.strictSame(listed, ['alice/hello'])
  t.match(told, [
    { code: 'ELOOP', path: join(folder, 'alice/a.git') },
    { code: 'ELOOP', path: join(folder, 'bob') },
  ])
})
