import { chmodSync, cpSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'
import { loadLibgit2, OpenRepository } from '../../lib/git/nodegit.js'
import type { ObjectFormat } from '../../lib/domain/object-id.js'
import { formats, objectId, unknownId } from '../fixtures/finder.js'
import { git, makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { makeEachType, makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'
import { openFiles } from '../fixtures/open-files.js'
import { slowPace } from '../fixtures/slow-pace.js'
import { within } from '../fixtures/within.js'

for (const format of formats) {
  t.test(`An id names a commit, another object, or nothing, format ${format}`, async (t) => {
    const directory = await makeRepository(t.testdir(), 'alice/hello', { format })
    const each = await makeEachType(directory)
    for (const layout of ['loose', 'packed']) {
      const repository = await OpenRepository.open(directory)
      for (const [type, id] of Object.entries(each))
        t.equal(
          await repository.find(objectId(id)),
          type === 'commit' ? 'commit' : 'another object',
          `${layout} ${type}`,
        )
      t.equal(await repository.find(objectId(unknownId(format))), 'nothing')
      t.equal(await repository.find(objectId(each.commit.toUpperCase())), 'commit')
      for (const other of formats)
        if (other !== format) t.equal(await repository.find(objectId(unknownId(other))), 'nothing')
      repository.close()
      await git('-C', directory, 'repack', '-adq')
    }
  })
}

for (const format of formats) {
  t.test(`Ids that are asked for together are told apart, format ${format}`, async (t) => {
    const directory = await makeRepository(t.testdir(), 'alice/hello', { format })
    const each = await makeEachType(directory)
    const repository = await OpenRepository.open(directory)
    const kindOf = async (hex: string): Promise<string> => await repository.find(objectId(hex)).catch(() => 'an error')
    const later = await makeHistory(directory, 3, 'later')
    await git('-C', directory, 'repack', '-dq')
    t.strictSame(
      await Promise.all([...later, unknownId(format, 1), each.commit].map(kindOf)),
      [...later.map(() => 'commit'), 'nothing', 'commit'],
      'also those that came in a pack since the opening',
    )
    const damaged = await makeCommit(directory, 'damaged')
    const loose = join(directory, 'objects', damaged.slice(0, 2), damaged.slice(2))
    chmodSync(loose, 0o600)
    truncateSync(loose, 5)
    const ids = [each.tree, each.commit, damaged, unknownId(format, 1), each.blob, unknownId(format, 2), each.tag]
    t.strictSame(await Promise.all(ids.map(kindOf)), [
      ...['another object', 'commit', 'an error', 'nothing', 'another object', 'nothing', 'another object'],
    ])
    const many = Array.from({ length: 3000 }, (_, number) =>
      number === 1234 ? each.commit : unknownId(format, number),
    )
    const found = await Promise.all(many.map(kindOf))
    t.strictSame([found.indexOf('commit'), new Set(found).size], [1234, 2])
    repository.close()
  })

  t.test(`The first id is looked up with the opening, format ${format}`, async (t) => {
    const directory = await makeRepository(t.testdir(), 'alice/hello', { format })
    const each = await makeEachType(directory)
    const damaged = await makeCommit(directory, 'damaged')
    const pathOf = (id: string): string => join(directory, 'objects', id.slice(0, 2), id.slice(2))
    chmodSync(pathOf(damaged), 0o600)
    truncateSync(pathOf(damaged), 5)
    const opened = async (id: string): Promise<OpenRepository> => {
      const repository = await OpenRepository.open(directory, objectId(id))
      t.teardown(() => {
        repository.close()
      })
      return repository
    }
    const first = async (id: string): Promise<string | undefined> => (await opened(id)).takeFirst(objectId(id))
    t.equal(await first(each.tree), 'another object')
    t.equal(await first(unknownId(format)), 'nothing')
    t.equal(await first(damaged), undefined, 'of what is damaged, a look-up has the error')
    await t.rejects((await opened(damaged)).find(objectId(damaged)), Error)
    const other = format === 'sha1' ? each.commit.padEnd(64, '0') : each.commit.slice(0, 40)
    t.equal(await first(other), undefined, 'an id of the other format, one that begins like a commit')
    t.equal(await (await opened(other)).find(objectId(other)), 'nothing')

    const [repository, second] = [await opened(each.commit), await opened(each.commit)]
    rmSync(pathOf(each.commit))
    t.equal(repository.takeFirst(objectId(each.commit)), 'commit')
    t.equal(repository.takeFirst(objectId(each.commit)), undefined, 'only once')
    t.equal(await repository.find(objectId(each.commit)), 'nothing')
    t.equal(second.takeFirst(objectId(each.tree)), undefined, 'another one is asked for first')
    t.equal(second.takeFirst(objectId(each.commit)), undefined)
  })
}

t.test('What is no repository cannot be opened', async (t) => {
  const folder = t.testdir({ 'empty.git': {}, 'file.git': '' })
  for (const name of ['empty.git', 'file.git', 'missing.git'])
    await t.rejects(OpenRepository.open(join(folder, name)), Error, name)
  await t.rejects(OpenRepository.open('missing.git'), { message: /path is not a repository: missing.git/ })
})

for (const [disk, makePace] of Object.entries({ fast: () => new SyncWhileFast(), slow: slowPace })) {
  t.test(`A repository that is closed lets go of its files on a ${disk} disk, and later look-ups reject`, async (t) => {
    const folder = t.testdir()
    const { directory, commits } = await makeRepositoryWithHistory(folder, 'alice/hello', { commits: 20 })
    await git('-C', directory, 'repack', '-adq')
    const repository = await OpenRepository.open(directory)
    const found = await Promise.all(commits.map(async (id) => await repository.find(objectId(id))))
    t.strictSame(new Set(found), new Set(['commit']))
    t.ok(openFiles(folder).length > 0)
    repository.close(makePace())
    // A disk that is slow is waited for by another thread.
    if (disk === 'fast') t.strictSame(openFiles(folder), [])
    t.ok(await within(20_000, () => openFiles(folder).length === 0))
    await t.rejects(repository.find(objectId(commits[0] ?? '')), { message: 'the repository was closed' })
  })
}

/** Configs, and what they make of a repository: its format, or a part of the reason why it is not opened. */
const configs: Record<string, readonly [config: string | Buffer, outcome: ObjectFormat | RegExp]> = {
  'an empty config': ['', 'sha1'],
  'upper case and a byte-order mark': [
    '\uFEFF[CORE]\n\tREPOSITORYFORMATVERSION = 1\n[EXTENSIONS]\n\tOBJECTFORMAT = sha256\n',
    'sha256',
  ],
  'lines that end as in Windows': ['[core]\r\n\tbare = true\r\n[extensions]\r\n\tobjectFormat = sha256\r\n', 'sha256'],
  'quotes, a comment and a continued line': ['[extensions]\nobjectFormat = "sha\\\n256" ; as it says\n', 'sha256'],
  'a format that stands in an include only': ['[include]\n\tpath = included\n', 'sha1'],
  'the last of two formats': ['[extensions]\nobjectFormat = sha1\n[extensions]\nobjectFormat = sha256\n', 'sha256'],
  'a subsection': ['[extensions "x"]\nobjectFormat = sha256\n', 'sha1'],
  'a format of the future': ['[extensions]\nobjectFormat = sha512\n', /unknown object format 'sha512'/],
  'a format without a value': ['[extensions]\nobjectFormat\n', /unknown object format ''/],
  'a version that is no number': ['[core]\nrepositoryFormatVersion = one\n', /failed to parse 'one'/],
  'a version without a value': ['[core]\nrepositoryFormatVersion\n', /failed to parse ''/],
  'a version below 0': ['[core]\nrepositoryFormatVersion = -1\n', /unsupported repository version -1/],
  'an extension of the future in version 0': ['[extensions]\nfromTheFuture = true\n', 'sha1'],
  'an extension of the future in version 1': [
    '[extensions]\nfromTheFuture = true\n[core]\nrepositoryFormatVersion = 1\n',
    /unsupported extension name extensions.fromthefuture/,
  ],
  'a section without an end': ['[core\n', /config/],
  'bytes that are no text': [Buffer.from([0, 1, 2, 0xff, 0xfe, 0]), /config/],
  'a name of 100,000 bytes': [`[core]\n${'x'.repeat(100_000)} = 1\n`, 'sha1'],
  '20,000 entries': [`[core]\n${'x = 1\n'.repeat(20_000)}`, 'sha1'],
  'more than a megabyte': ['#'.repeat(1024 * 1024 + 1), /is larger than 1 MB/],
}

for (const [name, [config, outcome]] of Object.entries(configs)) {
  t.test(`Of the config of a repository, what tells the object format is read: ${name}`, async (t) => {
    const directory = await makeRepository(t.testdir(), 'alice/hello')
    writeFileSync(join(directory, 'config'), config)
    writeFileSync(join(directory, 'included'), '[extensions]\n\tobjectFormat = sha256\n')
    if (typeof outcome !== 'string') {
      await t.rejects(OpenRepository.open(directory), { message: outcome })
      return
    }
    const { sha } = await makeRepositoryWithCommit(t.testdirName, 'alice/other', { format: outcome })
    rmSync(join(directory, 'objects'), { recursive: true })
    cpSync(join(t.testdirName, 'alice/other.git/objects'), join(directory, 'objects'), { recursive: true })
    const repository = await OpenRepository.open(directory)
    t.equal(await repository.find(objectId(sha)), 'commit')
    repository.close()
  })
}

t.test('A repository without a config is one of SHA-1', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  rmSync(join(directory, 'config'))
  const repository = await OpenRepository.open(directory)
  t.equal(await repository.find(objectId(sha)), 'commit')
  repository.close()
})

t.test('libgit2 lacks nothing as the set-up builds it', async (t) => {
  t.strictSame(await loadLibgit2(), {})
})
