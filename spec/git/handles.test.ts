import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git } from '../fixtures/git.js'
import { makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'
import { openFiles } from '../fixtures/open-files.js'
import { within } from '../fixtures/within.js'

/** Copies of one packed repository; `id` is a commit of each. */
async function makeMany(folder: string, number: number): Promise<{ directories: string[]; id: string }> {
  const { directory, commits } = await makeRepositoryWithHistory(folder, 'many/original')
  await git('-C', directory, 'repack', '-adq')
  const directories = Array.from({ length: number }, (_, at) => join(folder, `many/${at}.git`))
  for (const copy of directories)
    cpSync(directory, copy, { recursive: true, filter: (path) => !path.endsWith('/hooks') })
  return { directories, id: commits[0] ?? '' }
}

/** How many repositories below `folder` this process has files of open. */
function repositoriesOpen(folder: string): number {
  return new Set(openFiles(folder).map((path) => path.slice(0, path.indexOf('.git/')))).size
}

t.test('However many repositories are asked for, at most 64 of them are held open', async (t) => {
  const folder = t.testdir()
  const { directories, id } = await makeMany(folder, 100)
  const finder = makeFinder(t)
  for (const directory of directories) t.equal(await finder.has(directory, id), true)
  t.ok(repositoriesOpen(folder) >= 32, 'repositories are held open')
  t.ok(await within(20_000, () => repositoriesOpen(folder) <= 64), `${repositoriesOpen(folder)} are open`)

  const answers = await Promise.all(
    [...directories, ...directories].map(async (directory) => await finder.has(directory, id)),
  )
  t.notOk(answers.includes(false), 'all at once: each is answered')
  t.ok(await within(20_000, () => repositoriesOpen(folder) <= 64), `${repositoriesOpen(folder)} are open`)

  finder.close()
  t.ok(await within(20_000, () => openFiles(folder).length === 0), 'a closed finder holds nothing')
  t.equal(await finder.has(directories[0] ?? '', id), true, 'it still answers whoever asks late')
  t.ok(await within(20_000, () => openFiles(folder).length === 0), 'and holds nothing then')
})

t.test('A handle pushed out while it is being opened or used fails nobody', async (t) => {
  const { directories, id } = await makeMany(t.testdir(), 12)
  const finder = makeFinder(t, { handles: 2 })
  for (let round = 0; round < 20; round++) {
    const ids = [id, unknownId('sha1', round)]
    const answers = await Promise.all(
      ids.map(
        async (each) => await Promise.all(directories.map(async (directory) => await finder.has(directory, each))),
      ),
    )
    t.strictSame(answers, [directories.map(() => true), directories.map(() => false)])
  }
})

t.test('Closing while look-ups are under way fails none of them', async (t) => {
  const folder = t.testdir()
  const { directories, id } = await makeMany(folder, 12)
  const finder = makeFinder(t)
  await finder.has(directories[0] ?? '', id)
  const answers = directories.map(async (directory) => await finder.has(directory, id))
  finder.close()
  t.strictSame(
    await Promise.all(answers),
    directories.map(() => true),
  )
  t.ok(await within(20_000, () => openFiles(folder).length === 0), 'nothing is held open afterwards')
})

t.test(
  'A handle has an age, though it is used all the time: then it lets go of packs that git has deleted',
  async (t) => {
    const folder = t.testdir()
    const { directory, commits } = await makeRepositoryWithHistory(folder, 'alice/hello')
    await git('-C', directory, 'repack', '-adq')
    const finder = makeFinder(t, { handleMilliseconds: 3000 })
    const [id = ''] = commits
    t.equal(await finder.has(directory, id), true)
    await makeHistory(directory, 3)
    await git('-C', directory, 'repack', '-adq')
    t.ok(
      openFiles(folder).some((path) => path.endsWith('.pack (deleted)')),
      'the deleted pack is still held',
    )
    const gone = async (): Promise<boolean> => {
      t.equal(await finder.has(directory, id), true)
      return openFiles(folder).every((path) => !path.endsWith(' (deleted)'))
    }
    t.ok(await within(12_000, gone), 'it is let go of')
    t.ok(
      await within(12_000, () => openFiles(folder).length === 0),
      'and so are all files of a repository that nobody asks for',
    )
  },
)

t.test('A process exits without waiting for the age of its handles, closed or not', async (t) => {
  const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const program = new URL('../fixtures/finder-process.ts', import.meta.url).pathname
  const runs = ['close', 'leave'].map(async (then) => {
    const run = await promisify(execFile)(process.execPath, [
      ...process.execArgv,
      program,
      then,
      directory,
      commits[0] ?? '',
    ])
    const [answer, at] = run.stdout.trim().split(' ')
    t.equal(answer, 'true')
    t.ok(Date.now() - Number(at) < 10_000, `${then}: it ended ${Date.now() - Number(at)} ms after its answer`)
  })
  await Promise.all(runs)
})

t.test('20,000 look-ups leave nothing behind', async (t) => {
  const folder = t.testdir()
  // In a process without tap, which keeps memory of its own for each promise.
  const loader = process.execArgv.filter((argument) => argument.includes('/spec/loader/'))
  const program = new URL('../fixtures/look-ups-process.ts', import.meta.url).pathname
  const runs = formats.map(async (format) => {
    const { directory, commits } = await makeRepositoryWithHistory(folder, `alice/${format}`, { format, commits: 50 })
    await git('-C', directory, 'repack', '-adq')
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      ...loader,
      program,
      format,
      directory,
      ...commits,
    ])
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number))
    const memory = lines.map(([bytes = NaN]) => bytes)
    // A leak shows in each of the four rounds; memory that is given back, or that a thread gets of its own, in one.
    const [, grown = NaN] = memory
      .slice(1)
      .map((bytes, at) => bytes - (memory[at] ?? NaN))
      .sort((one, other) => one - other)
    t.ok(grown < 5e6, `${format}: ${(grown / 1e6).toFixed(1)} MB more with each 5,000 look-ups`)
    t.strictSame(new Set(lines.map(([, files]) => files)).size, 1, 'the open files stay the same')
  })
  await Promise.all(runs)
})
