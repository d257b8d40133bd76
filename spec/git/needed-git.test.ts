import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { RepositoryFormatUnknown } from '../../lib/git/commits.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { isTooOld, neededGit, UnknownFormatNotes } from '../../lib/git/needed-git.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { git, makeRepository } from '../fixtures/git.js'
import { pagesOf, visit } from '../fixtures/visit.js'
import { until } from '../fixtures/within.js'

const installed = await git('version')
const FUTURE = '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tfromTheFuture = true\n'
const WORDS = 'the git of this service cannot read this kind of repository: it may take a later one'

/** A logger, and what it was given. */
function listening() {
  const lines: { facts: object; message: string }[] = []
  return {
    lines,
    logger: { ...silentLogger, warn: (facts: object, message: string) => void lines.push({ facts, message }) },
  }
}

t.test('What a repository needs is what takes the latest git', async (t) => {
  const directory = t.testdir()
  const needed = async (config: string) => {
    writeFileSync(join(directory, 'config'), config)
    return await neededGit(directory)
  }
  t.equal(await needed('[core]\n\tbare = true\n[remote "extensions"]\n\tobjectFormat = sha1\n'), undefined)
  t.strictSame(await needed('[extensions]\n\tobjectFormat = sha256\n'), {
    extension: 'objectformat = sha256',
    version: '2.29',
  })
  const several =
    '[Extensions] refStorage = "reftable" # as it is\r\n\n; x\n\tobjectformat=sha256\n[core]\n\tnoop = 1\n'
  t.strictSame(await needed(several), { extension: 'refstorage = reftable', version: '2.45' })
  t.match(await needed('[extensions]\n\tcompatObjectFormat = sha1\n\tworktreeConfig\n'), { version: '2.45' })
  t.match(await needed('[extensions]\n\tpreciousObjects\n'), { extension: 'preciousobjects = true', version: '2.7' })
  t.match(await needed('[extensions]\npartialClone = origin\n[extensions]\nrelativeWorktrees = true\n'), {
    version: '2.48',
  })
  t.strictSame(await needed(`${FUTURE}\trefStorage = files\n`), { extension: 'fromthefuture = true' })
  t.strictSame(await needed('[extensions]\n\trefStorage = files\n\tfromTheFuture = x\n'), {
    extension: 'fromthefuture = x',
  })
  await t.rejects(needed('x'.repeat(65_537)))
  t.strictSame(
    ['2.39.5', 'git version 2.45.0.windows.1', 'git version 2.100.1', '2.45'].map((version) =>
      isTooOld(version, { extension: 'x', version: '2.45' }),
    ),
    [true, false, false, false],
  )
  t.ok(isTooOld('git version 99.1', { extension: 'x' }))
  t.ok(isTooOld('nonsense', { extension: 'x', version: '2.45' }))
})

const isNew = !isTooOld(installed, { extension: '', version: '2.45' })

async function refusedIn(t: Test, config: string) {
  const directory = await makeRepository(t.testdir(), 'alice/hello')
  appendFileSync(join(directory, 'config'), config)
  const { lines, logger } = listening()
  const processes = new GitProcesses({ logger })
  t.teardown(() => {
    processes.close()
  })
  const ask = async () => await processes.run(directory, ['for-each-ref'], 1000)
  for (const _ of [1, 2, 3]) await t.rejects(ask(), RepositoryFormatUnknown)
  await until(() => lines.length > 0)
  t.equal(lines.length, 1, 'once')
  return { directory, line: lines[0] }
}

t.test('The log says which git a repository needs', { skip: isNew && 'this git knows a reftable' }, async (t) => {
  const config = '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\trefStorage = reftable\n'
  const { directory, line } = await refusedIn(t, config)
  t.strictSame(
    line?.message,
    'the installed git is too old for this repository: extensions.refstorage = reftable needs git 2.45',
  )
  t.match(line?.facts, { repository: directory, installed, said: /unknown repository extension/ })
})

t.test('The log says of a format that nobody knows here that it is unknown', async (t) => {
  for (const config of [FUTURE, '[core]\n\trepositoryFormatVersion = 99\n'])
    await t.test(config, async (t) => {
      const { line } = await refusedIn(t, config)
      t.equal(line?.message, 'the installed git does not know the format of this repository')
    })
})

t.test('So it is where the config cannot be read, and of a thousand repositories each is noted once', async (t) => {
  const folder = t.testdir()
  const { lines, logger } = listening()
  const notes = new UnknownFormatNotes(logger, async () => await Promise.resolve('git version 2.39.5'))
  await notes.note(join(folder, 'missing'), 'what git says')
  t.match(lines, [{ message: /does not know the format of this repository: ENOENT/, facts: { said: 'what git says' } }])
  const old = join(folder, 'reftable')
  mkdirSync(old)
  writeFileSync(join(old, 'config'), '[extensions]\n\trefStorage = reftable\n')
  await notes.note(old, 'what git says')
  t.match(lines.pop()?.message, 'extensions.refstorage = reftable needs git 2.45')
  const directories = Array.from({ length: 1001 }, (_, number) => join(folder, `repository-${number}`))
  for (const directory of directories) {
    mkdirSync(directory)
    writeFileSync(join(directory, 'config'), FUTURE)
    await notes.note(directory, 'what git says')
    await notes.note(directory, 'what git says')
  }
  t.equal(lines.length, 1002)
  for (const directory of [directories[1000], directories[0]]) await notes.note(directory ?? '', 'what git says')
  t.equal(lines.length, 1003, 'the first of them is noted again')
})

t.test('Pages and compatible APIs do not say that it passes by itself', async (t) => {
  const { service, home, directory } = await pagesOf(t)
  appendFileSync(join(directory, 'config'), FUTURE)
  for (const path of [`${home}?ref=main`, `${home}/badge.svg?ref=main`]) {
    const { status, text, headers } = await visit(service, path)
    t.strictSame([status, headers.get('retry-after')], [503, '3600'], path)
    t.match(text, `T${WORDS.slice(1)}`)
    t.notMatch(text, 'at the moment')
  }
  const compatible = await service.call('GET', '/api/v3/repos/alice/hello/commits/main/statuses')
  t.match(compatible, { status: 503, body: { message: WORDS } })
  await until(() => service.log.some(({ msg }) => String(msg).includes('does not know the format')))
})
