import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import type { ObjectFormat } from '../../lib/domain/object-id.js'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { borrow, makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'

/** A repository with commits in two packs and one as a loose object. */
interface Commits {
  readonly firstPack: string
  readonly secondPack: string
  readonly loose: string
}

interface Damage {
  /** Does it; `pack` is the path of the first pack, without its ending. */
  readonly make: (paths: { directory: string; objects: string; pack: string }) => void
  /** The commits that can still be confirmed. */
  readonly readable: readonly (keyof Commits)[]
}

const beyondFirstPack = ['secondPack', 'loose'] as const
const all = ['firstPack', 'secondPack', 'loose'] as const

const damages: Record<string, Damage> = {
  'a cut pack': { make: ({ pack }) => cut(`${pack}.pack`, 0.5), readable: beyondFirstPack },
  'a pack that lacks its last byte': { make: ({ pack }) => cut(`${pack}.pack`, -1), readable: beyondFirstPack },
  'an empty pack': { make: ({ pack }) => cut(`${pack}.pack`, 0), readable: beyondFirstPack },
  'a pack with a broken header': { make: ({ pack }) => overwrite(`${pack}.pack`, 0), readable: beyondFirstPack },
  'a pack that counts its objects wrongly': {
    make: ({ pack }) => overwrite(`${pack}.pack`, 8),
    readable: beyondFirstPack,
  },
  'a pack of an unknown version': { make: ({ pack }) => overwrite(`${pack}.pack`, 4), readable: beyondFirstPack },
  'no pack to an index': { make: ({ pack }) => rmSync(`${pack}.pack`), readable: beyondFirstPack },
  'a cut index': { make: ({ pack }) => cut(`${pack}.idx`, 0.5), readable: beyondFirstPack },
  'an index that lacks its last byte': { make: ({ pack }) => cut(`${pack}.idx`, -1), readable: beyondFirstPack },
  'an index that lacks its middle': { make: ({ pack }) => cutOut(`${pack}.idx`), readable: beyondFirstPack },
  'an empty index': { make: ({ pack }) => cut(`${pack}.idx`, 0), readable: beyondFirstPack },
  'an index of an unknown version': { make: ({ pack }) => overwrite(`${pack}.idx`, 4), readable: beyondFirstPack },
  'an index whose counts go down': { make: ({ pack }) => overwrite(`${pack}.idx`, 8), readable: beyondFirstPack },
  'an index that is a folder': { make: ({ pack }) => replaceByFolder(`${pack}.idx`), readable: beyondFirstPack },
  'an index that is a symbolic link loop': {
    make: ({ pack }) => replaceByLoop(`${pack}.idx`),
    readable: beyondFirstPack,
  },
  'no objects/pack': { make: ({ objects }) => rmSync(join(objects, 'pack'), { recursive: true }), readable: ['loose'] },
  'a file for objects/pack': { make: ({ objects }) => replaceByFile(join(objects, 'pack')), readable: ['loose'] },
  'a symbolic link loop for objects/pack': {
    make: ({ objects }) => replaceByLoop(join(objects, 'pack')),
    readable: ['loose'],
  },
  'an alternate that does not exist': {
    make: ({ directory }) => borrow(directory, '../../missing.git/objects'),
    readable: all,
  },
  'an alternate that is a file': { make: ({ directory }) => borrow(directory, '../config'), readable: all },
  'an alternate whose path is relative to nothing': {
    make: ({ directory }) => borrow(directory, 'elsewhere/objects'),
    readable: [],
  },
  'alternates that are a folder': { make: ({ objects }) => mkdirSync(join(objects, 'info/alternates')), readable: [] },
  'no objects': { make: ({ objects }) => rmSync(objects, { recursive: true }), readable: [] },
  'a file for objects': { make: ({ objects }) => replaceByFile(objects), readable: [] },
  'a symbolic link loop for objects': { make: ({ objects }) => replaceByLoop(objects), readable: [] },
  'no HEAD': { make: ({ directory }) => rmSync(join(directory, 'HEAD')), readable: [] },
  'a config that is no config': {
    make: ({ directory }) => writeFileSync(join(directory, 'config'), '[[[[\n'),
    readable: [],
  },
  'an unknown extension': {
    make: ({ directory }) =>
      writeFileSync(
        join(directory, 'config'),
        '[core]\nbare = true\nrepositoryFormatVersion = 1\n[extensions]\nfromTheFuture = 1\n',
      ),
    readable: [],
  },
  'a format version of the future': {
    make: ({ directory }) =>
      writeFileSync(join(directory, 'config'), '[core]\nbare = true\nrepositoryFormatVersion = 2\n'),
    readable: [],
  },
  'nothing in its folder': { make: ({ directory }) => replaceByFolder(directory), readable: [] },
  'a named pipe for config': { make: ({ directory }) => replaceByPipe(join(directory, 'config')), readable: [] },
  'a named pipe for HEAD': { make: ({ directory }) => replaceByPipe(join(directory, 'HEAD')), readable: [] },
  'a named pipe for alternates': {
    make: ({ objects }) => replaceByPipe(join(objects, 'info/alternates')),
    readable: [],
  },
  'a named pipe for a pack': { make: ({ pack }) => replaceByPipe(`${pack}.pack`), readable: beyondFirstPack },
  'a link to a named pipe for an index': {
    make: ({ directory, pack }) => linkToPipe(`${pack}.idx`, join(directory, 'pipe')),
    readable: beyondFirstPack,
  },
  'a named pipe for a multi-pack-index': {
    make: ({ objects }) => replaceByPipe(join(objects, 'pack/multi-pack-index')),
    readable: all,
  },
  'a named pipe for objects/pack': { make: ({ objects }) => replaceByPipe(join(objects, 'pack')), readable: ['loose'] },
  'a named pipe for objects': { make: ({ objects }) => replaceByPipe(objects), readable: [] },
  'a symbolic link loop for its folder': { make: ({ directory }) => replaceByLoop(directory), readable: [] },
}

/** Damages that touch a single loose object: what is not there can still be told. */
const looseDamages: Record<string, (path: string) => void> = {
  'an empty loose object': (path) => cut(path, 0),
  'a cut loose object': (path) => cut(path, 10),
  'a loose object that is none': (path) => writable(path, () => writeFileSync(path, 'What is this?')),
  'a loose object that is a folder': replaceByFolder,
  'a loose object that is a symbolic link loop': replaceByLoop,
  'a loose object that is a named pipe': replaceByPipe,
  'a file for the folder of a loose object': (path) => replaceByFile(dirname(path)),
}

function writable(path: string, change: () => void): void {
  chmodSync(path, 0o600)
  change()
}

/** Keeps a share of a file's bytes (0.5), so many of them (10), or all but so many (-1). */
function cut(path: string, keep: number): void {
  const { length } = readFileSync(path)
  writable(path, () => truncateSync(path, keep < 0 ? length + keep : keep < 1 ? Math.floor(length * keep) : keep))
}

function cutOut(path: string): void {
  const content = readFileSync(path)
  writable(path, () => writeFileSync(path, Buffer.concat([content.subarray(0, -200), content.subarray(-100)])))
}

function overwrite(path: string, at: number): void {
  const content = readFileSync(path)
  content.fill(0xee, at, at + 4)
  writable(path, () => writeFileSync(path, content))
}

function replaceByFolder(path: string): void {
  rmSync(path, { recursive: true })
  mkdirSync(path)
}

function replaceByFile(path: string): void {
  rmSync(path, { recursive: true })
  writeFileSync(path, '')
}

function replaceByLoop(path: string): void {
  rmSync(path, { recursive: true })
  symlinkSync(path, path)
}

function replaceByPipe(path: string): void {
  rmSync(path, { recursive: true, force: true })
  execFileSync('mkfifo', [path])
}

function linkToPipe(path: string, pipe: string): void {
  rmSync(path)
  execFileSync('mkfifo', [pipe])
  symlinkSync(pipe, path)
}

interface Parts {
  readonly directory: string
  /** Path of the first pack, without its ending. */
  readonly pack: string
  readonly commits: Commits
}

async function makeOriginal(folder: string, format: ObjectFormat): Promise<Parts> {
  const { directory, commits } = await makeRepositoryWithHistory(folder, `original/${format}`, { format })
  await git('-C', directory, 'repack', '-dq')
  const [index = ''] = readdirSync(join(directory, 'objects/pack')).filter((file) => file.endsWith('.idx'))
  const [secondPack = ''] = await makeHistory(directory, 1, 'second')
  await git('-C', directory, 'repack', '-dq')
  let loose = await makeCommit(directory, 'loose', 'loose')
  // In one folder with the id that is not there, it would take that one along.
  while (loose.startsWith(unknownId(format).slice(0, 2))) loose = await makeCommit(directory, 'loose', 'loose')
  const pack = join('objects/pack', index.slice(0, -'.idx'.length))
  return { directory, pack, commits: { firstPack: commits[0] ?? '', secondPack, loose } }
}

function copy({ directory, pack, commits }: Parts, folder: string): Parts {
  const to = join(folder, 'alice/hello.git')
  cpSync(directory, to, { recursive: true })
  return { directory: to, pack: join(to, pack), commits }
}

t.jobs = 8
const originals = t.testdir()
for (const format of formats) {
  const original = await makeOriginal(originals, format)

  for (const [name, { make, readable }] of Object.entries(damages)) {
    t.test(
      `${name} (${format}): what cannot be told is refused, never missing; what can be read is confirmed`,
      { buffered: true },
      async (t) => {
        const { directory, pack, commits } = copy(original, t.testdir())
        make({ directory, objects: join(directory, 'objects'), pack })
        const finder = makeFinder(t)
        await t.rejects(finder.has(directory, unknownId(format)), RepositoryUnreadable, 'an id that is not there')
        for (const [where, id] of Object.entries(commits) as [keyof Commits, string][]) {
          if (readable.includes(where)) t.equal(await finder.has(directory, id), true, `the commit in ${where}`)
          else await t.rejects(finder.has(directory, id), RepositoryUnreadable, `the commit in ${where}`)
        }
        t.equal(await finder.has(original.directory, commits.firstPack), true, 'another repository goes on')
        t.equal(await finder.has(original.directory, unknownId(format)), false, 'also with what it does not have')
      },
    )
  }

  t.test(
    `Damaged loose objects (${format}): the commit is refused, never missing; every other id is told`,
    { buffered: true },
    async (t) => {
      for (const [name, make] of Object.entries(looseDamages)) {
        const { directory, commits } = copy(original, t.testdir())
        make(loosePath(directory, commits.loose))
        const finder = makeFinder(t)
        await t.rejects(finder.has(directory, commits.loose), RepositoryUnreadable, name)
        t.equal(await finder.has(directory, commits.firstPack), true, name)
        t.equal(await finder.has(directory, unknownId(format)), false, name)
      }
    },
  )

  t.test(
    `A loose commit (${format}) that is cut behind its header is confirmed, as git does, and holds nobody up`,
    { buffered: true },
    async (t) => {
      const { directory, commits } = copy(original, t.testdir())
      const path = loosePath(directory, commits.loose)
      cut(path, -1)
      t.equal(await git('-C', directory, 'cat-file', '-t', commits.loose), 'commit')
      const finder = makeFinder(t)
      const asked = Array.from({ length: 20 }, (_, number) => [
        commits.loose,
        commits.firstPack,
        unknownId(format, number),
      ]).flat()
      t.strictSame(
        new Set(
          await Promise.all(asked.map(async (id) => `${id.startsWith('facade')} ${await finder.has(directory, id)}`)),
        ),
        new Set(['false true', 'true false']),
      )
      const { length } = readFileSync(path)
      for (let bytes = length - 1; bytes >= 0; bytes -= 5) {
        cut(path, bytes)
        const answer = await finder
          .has(directory, commits.loose)
          .catch((error: unknown) => error instanceof RepositoryUnreadable)
        t.equal(answer, true, `${bytes} bytes: confirmed or refused`)
      }
    },
  )

  t.test(`A mended repository (${format}) is read at once`, { buffered: true }, async (t) => {
    const { directory, pack, commits } = copy(original, t.testdir())
    const [path, kept] = [`${pack}.pack`, join(directory, 'kept')]
    copyFileSync(path, kept)
    cut(path, 0.5)
    const finder = makeFinder(t)
    await t.rejects(finder.has(directory, commits.firstPack), RepositoryUnreadable)
    renameSync(kept, path)
    t.equal(await finder.has(directory, commits.firstPack), true)
    t.equal(await finder.has(directory, unknownId(format)), false)
  })

  t.test(
    `A mended repository (${format}) is read at once, though another one that borrows from it is held open as it was`,
    { buffered: true },
    async (t) => {
      const folder = t.testdir()
      const { directory, pack, commits } = copy(original, folder)
      const [path, kept] = [`${pack}.pack`, join(directory, 'kept')]
      const fork = await makeRepository(folder, 'bob/fork', { format })
      borrow(fork, '../../../alice/hello.git/objects')
      symlinkSync(folder, join(folder, 'elsewhere'))
      const finder = makeFinder(t)
      copyFileSync(path, kept)
      cut(path, 0.5)
      t.equal(await finder.has(fork, commits.loose), true)
      await t.rejects(finder.has(directory, commits.firstPack), RepositoryUnreadable)
      t.equal(await finder.has(join(folder, 'elsewhere/bob/fork.git'), commits.loose), true, 'as by another way')
      renameSync(kept, path)
      await setTimeout(100)
      t.equal(await finder.has(directory, commits.firstPack), true)
      t.equal(await finder.has(directory, unknownId(format)), false)
      t.equal(await finder.has(fork, commits.firstPack), true)
    },
  )
}

function loosePath(directory: string, id: string): string {
  return join(directory, 'objects', id.slice(0, 2), id.slice(2))
}
