import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { OpenRepository } from '../../lib/git/nodegit.js'
import { ObjectDatabase } from '../../lib/git/object-database.js'
import type { ObjectId } from '../../lib/domain/object-id.js'
import { formats, objectId, unknownId } from '../fixtures/finder.js'
import { git, gitWithInput, makeCommit, makeRepository } from '../fixtures/git.js'
import { borrow, makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'

/** Waits until nothing has changed for so long that there is a stamp. */
async function stampOf(database: ObjectDatabase): Promise<string> {
  for (;;) {
    const stamp = await database.stamp()
    if (stamp !== undefined) return stamp
    await setTimeout(5)
  }
}

/** Makes the proof with a libgit2 that has just opened the repository, for a database that may be older. */
async function prove(directory: string, id: ObjectId, database?: ObjectDatabase): Promise<void> {
  const repository = await OpenRepository.open(directory)
  try {
    await (database ?? (await ObjectDatabase.open(directory))).proveReadable(
      id,
      async (other) => await repository.find(other),
    )
  } finally {
    repository.close()
  }
}

t.test('The stamp stays the same as long as no pack and no alternate comes or goes', async (t) => {
  const { directory } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const database = await ObjectDatabase.open(directory)
  const before = await stampOf(database)
  t.equal(await stampOf(database), before)
  await makeCommit(directory)
  t.equal(await stampOf(database), before, 'loose objects are no packs')
})

t.test('The stamp is another one after each change of packs and alternates, and none just after it', async (t) => {
  const folder = t.testdir()
  const lender = await makeRepositoryWithHistory(folder, 'alice/lender')
  const { directory } = await makeRepositoryWithHistory(folder, 'alice/hello')
  borrow(directory, '../../lender.git/objects')
  const database = await ObjectDatabase.open(directory)
  const packs = join(directory, 'objects/pack')
  const changes: Record<string, () => unknown> = {
    'a pack that comes': () => writeFileSync(join(packs, 'pack-1.idx'), ''),
    'a pack that is renamed': () => renameSync(join(packs, 'pack-1.idx'), join(packs, 'pack-2.idx')),
    'a pack that goes': () => rmSync(join(packs, 'pack-2.idx')),
    'a pack of an alternate': () => writeFileSync(join(lender.directory, 'objects/pack/pack-1.idx'), ''),
    'one alternate more': () => appendFileSync(join(directory, 'objects/info/alternates'), '../../other.git/objects\n'),
    'an alternate of an alternate': () => borrow(lender.directory, '../../other.git/objects'),
    'no packs any more': () => rmSync(packs, { recursive: true }),
    'packs again': () => mkdirSync(packs),
    'other rights': () => chmodSync(packs, 0o755),
  }
  let stamp = await stampOf(database)
  for (const [name, change] of Object.entries(changes)) {
    change()
    const at = await database.stamp()
    if (!name.startsWith('no ')) t.equal(at, undefined, `${name}: it has just changed`)
    const next = await stampOf(database)
    t.not(next, stamp, name)
    stamp = next
  }
})

for (const format of formats) {
  t.test(`It is proved that what libgit2 does not find is not there, format ${format}`, async (t) => {
    const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format })
    const unknown = objectId(unknownId(format))
    const loose = objectId(commits[0] ?? '')
    await t.resolves(prove(directory, unknown), 'without packs')
    await t.rejects(prove(directory, loose), { message: /is there, but cannot be read/ })
    await git('-C', directory, 'repack', '-dq')
    await makeHistory(directory, 3, 'other')
    await git('-C', directory, '-c', 'pack.indexVersion=1', 'repack', '-dq')
    await t.resolves(prove(directory, unknown), 'with packs whose indexes are of both versions')
    const emptyTree = await gitWithInput('', '-C', directory, 'hash-object', '-t', 'tree', '-w', '--stdin')
    for (const objects of ['', emptyTree]) {
      const name = await gitWithInput(objects, '-C', directory, 'pack-objects', '--quiet', 'objects/pack/pack')
      t.ok(statSync(join(directory, `objects/pack/pack-${name}.pack`)).size < 64)
      await t.resolves(prove(directory, unknown), 'with a pack that has next to nothing in it')
    }
    const [one = '', two = ''] = readdirSync(join(directory, 'objects/pack'))
      .filter((file) => file.endsWith('.idx'))
      .map((file) => join(directory, 'objects/pack', file))
    rmSync(one)
    copyFileSync(two, one)
    await t.rejects(prove(directory, unknown), { message: /do not fit together/ }, 'with the index of another pack')
  })
}

t.test('Packs are proved once, what is loose each time', async (t) => {
  const { directory } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const id = unknownId('sha1')
  await git('-C', directory, 'repack', '-adq')
  const database = await ObjectDatabase.open(directory)
  await t.resolves(prove(directory, objectId(id), database))
  const [pack = ''] = readdirSync(join(directory, 'objects/pack')).filter((file) => file.endsWith('.pack'))
  chmodSync(join(directory, 'objects/pack', pack), 0o600)
  truncateSync(join(directory, 'objects/pack', pack), 10)
  await t.resolves(prove(directory, objectId(id), database), 'that a pack was cut shows when it is opened again')
  mkdirSync(join(directory, 'objects', id.slice(0, 2)))
  writeFileSync(join(directory, 'objects', id.slice(0, 2), id.slice(2)), '')
  await t.rejects(prove(directory, objectId(id), database), { message: /is there, but cannot be read/ })
})

t.test('What is borrowed is proved too', async (t) => {
  const folder = t.testdir()
  const [directory, lender] = [
    await makeRepository(folder, 'alice/hello'),
    await makeRepository(folder, 'alice/lender'),
  ]
  const unknown = objectId(unknownId('sha1'))
  borrow(directory, '# a remark', '', '../../lender.git/objects', join(lender, 'objects'), './pack/../../objects')
  await t.resolves(prove(directory, unknown))
  writeFileSync(join(lender, 'objects/pack/pack-1.idx'), '')
  await t.rejects(prove(directory, unknown), { code: 'ENOENT' })
  rmSync(join(lender, 'objects/pack/pack-1.idx'))
  rmSync(join(lender, 'objects'), { recursive: true })
  symlinkSync('objects', join(lender, 'objects'))
  await t.rejects(ObjectDatabase.open(directory), { code: 'ELOOP' })
})

t.test('Alternates that name each other many times over are read once each', async (t) => {
  const folder = t.testdir()
  const all = await Promise.all(
    Array.from({ length: 20 }, async (_, number) => await makeRepository(folder, `alice/${number}`)),
  )
  for (const directory of all) borrow(directory, ...all.map((each) => join(each, 'objects')))
  const stamp = await stampOf(await ObjectDatabase.open(all[0] ?? ''))
  t.equal(stamp.split(',').length, 2 * all.length)
})

t.test('What libgit2 does not see, or sees only now, proves nothing', async (t) => {
  const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  await git('-C', directory, 'repack', '-adq')
  const [packed, unknown] = [objectId(commits[0] ?? ''), objectId(unknownId('sha1'))]
  await t.rejects(
    (await ObjectDatabase.open(directory)).proveReadable(unknown, () => Promise.resolve('nothing')),
    { message: /libgit2 does not see it/ },
  )
  await t.rejects(prove(directory, packed), { message: /has come only now/ })
  const database = await ObjectDatabase.open(directory)
  const brokenObject = async (id: ObjectId): Promise<'nothing'> =>
    id === unknown ? await Promise.resolve('nothing') : await Promise.reject(new Error('broken'))
  await t.resolves(
    database.proveReadable(unknown, brokenObject),
    'that one object is broken says nothing about another one',
  )
})

t.test('More than 64 alternates, of whatever kind, are refused at once', async (t) => {
  const folder = t.testdir()
  const [lender, borrower, chained] = [
    await makeRepository(folder, 'alice/lender'),
    await makeRepository(folder, 'alice/borrower'),
    await makeRepository(folder, 'alice/chained'),
  ]
  const objects = join(lender, 'objects')
  borrow(borrower, ...Array.from({ length: 64 }, () => objects))
  await t.resolves(ObjectDatabase.open(borrower))
  borrow(borrower, ...Array.from({ length: 65 }, () => objects))
  await t.rejects(ObjectDatabase.open(borrower), { message: /more than 64 alternates/ }, 'one that is named often')
  borrow(borrower, ...Array.from({ length: 60 }, (_, number) => `../missing-${number}`))
  await t.resolves(ObjectDatabase.open(borrower))
  borrow(chained, ...Array.from({ length: 4 }, (_, number) => `../missing-${number}`), join(borrower, 'objects'))
  await t.rejects(ObjectDatabase.open(chained), { message: /more than 64 alternates/ }, 'those of alternates count')
  borrow(chained, '#'.repeat(64 * 1024))
  await t.rejects(ObjectDatabase.open(chained), { message: /has more than 65536 bytes/ })
  borrow(chained, Array.from({ length: 65 }, () => objects).join('\r'))
  await t.rejects(ObjectDatabase.open(chained), { message: /has a carriage return/ }, 'libgit2 ends a line there')
})
