import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { Refs } from '../../lib/git/refs.js'
import { git, makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { until, within } from '../fixtures/within.js'

interface Scene {
  readonly directory: string
  readonly sha: string
  readonly resolve: (name: string) => Promise<string | undefined>
  readonly defaultBranch: () => Promise<string | undefined>
  readonly refs: Refs
}

async function scene(t: Test, format: 'sha1' | 'sha256' = 'sha1', milliseconds?: number): Promise<Scene> {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello', { format })
  return { ...readerOf(t, directory, milliseconds), directory, sha }
}

function readerOf(t: Test, directory: string, milliseconds?: number): Omit<Scene, 'directory' | 'sha'> {
  const processes = new GitProcesses(milliseconds === undefined ? {} : { milliseconds })
  t.teardown(() => {
    processes.close()
  })
  const refs = new Refs(processes)
  const repository = { directory, public: true }
  return {
    refs,
    resolve: async (name) => (await refs.resolve(repository, name))?.hex,
    defaultBranch: async () => await refs.defaultBranch(repository),
  }
}

for (const format of ['sha1', 'sha256'] as const) {
  for (const kind of ['loose', 'packed'] as const) {
    t.test(`Branches, tags and HEAD of a repository are found by every name: ${format}, ${kind}`, async (t) => {
      const { directory, sha, resolve, defaultBranch } = await scene(t, format)
      const other = await makeCommit(directory, 'another', 'feature/a-b')
      await git('-C', directory, 'update-ref', 'refs/pull/1/head', other)
      await git('-C', directory, 'tag', 'light', other)
      await git('-C', directory, 'tag', '-a', '-m', 'a tag', 'v1.0', other)
      await git('-C', directory, 'tag', '-a', '-m', 'a tag of a tag', 'v1.1', 'v1.0')
      if (kind === 'packed') await git('-C', directory, 'pack-refs', '--all', '--prune')
      for (const name of ['main', 'heads/main', 'refs/heads/main', 'HEAD']) t.equal(await resolve(name), sha, name)
      for (const name of ['feature/a-b', 'refs/heads/feature/a-b', 'light', 'tags/light', 'pull/1/head'])
        t.equal(await resolve(name), other, name)
      for (const name of ['v1.0', 'v1.1', 'tags/v1.1', 'refs/tags/v1.0']) t.equal(await resolve(name), other, name)
      for (const name of ['feature', 'mai', 'main/x', 'refs/heads', 'FETCH_HEAD', 'config'])
        t.equal(await resolve(name), undefined, name)
      t.equal(await defaultBranch(), 'main')
    })
  }
}

const noReftable = !spawnSync('git', ['init', '-h'], { encoding: 'utf8' }).stdout.includes('--ref-format')

t.test('A reftable is read as well', { skip: noReftable && 'this git knows no reftable' }, async (t) => {
  const directory = join(t.testdir(), 'hello.git')
  await git('init', '--quiet', '--bare', '--initial-branch=trunk', '--ref-format=reftable', directory)
  const sha = await makeCommit(directory, 'a commit', 'trunk')
  const { resolve, defaultBranch } = readerOf(t, directory)
  t.strictSame([await resolve('trunk'), await resolve('HEAD'), await resolve('main')], [sha, sha, undefined])
  t.equal(await defaultBranch(), 'trunk')
})

t.test('A branch is taken before a tag of its name', async (t) => {
  const { directory, sha, resolve } = await scene(t)
  const other = await makeCommit(directory, 'another', 'other')
  await git('-C', directory, 'tag', 'main', other)
  t.strictSame([await resolve('main'), await resolve('tags/main')], [sha, other])
})

t.test('What is no name of a ref is not found, though git could make a commit of it', async (t) => {
  const { directory, sha, resolve } = await scene(t)
  await makeCommit(directory, 'another')
  const id = await git('-C', directory, 'rev-parse', 'main')
  const names = [
    'main~1',
    'main^',
    'main^{commit}',
    'main^{/a commit}',
    ':/another',
    'main@{0}',
    '@{-1}',
    '@',
    'main..main',
    'main...main',
    '--all',
    '--upload-pack=touch /tmp/x',
    '-q',
    sha.slice(0, 8),
    `main-g${id.slice(0, 8)}`,
    `refs/heads/v1-1-g${id}`,
    '',
    '/',
    'main/',
    '/main',
    'a//b',
    'main.',
    '.main',
    'a/.b',
    'main.lock',
    'main ',
    'main\n',
    'ma\0in',
    'main\u007f',
    'ma*',
    'ma?n',
    'ma[i]n',
    'ma\\in',
    '../hello.git/HEAD',
    'x'.repeat(5000),
    `${'x/'.repeat(400)}x`,
    'ä'.repeat(513),
  ]
  for (const name of names) t.equal(await resolve(name), undefined, JSON.stringify(name.slice(0, 40)))
  t.notOk(existsSync('/tmp/x'))
})

t.test('A ref that has moved is seen within two seconds; forgetting shows it at once', async (t) => {
  const { directory, sha, resolve, refs } = await scene(t)
  t.equal(await resolve('main'), sha)
  const later = await makeCommit(directory, 'later')
  t.equal(await resolve('main'), sha, 'remembered')
  t.ok(await within(10_000, async () => (await resolve('main')) === later))
  const last = await makeCommit(directory, 'last')
  refs.forget()
  t.equal(await resolve('main'), last)
})

t.test('Those who ask for one ref at once share one git', async (t) => {
  const { directory } = await scene(t)
  const processes = new GitProcesses()
  let runs = 0
  const refs = new Refs({
    run: async (...args) => {
      runs++
      return await processes.run(...args)
    },
  })
  const repository = { directory, public: true, identity: 'one' }
  await Promise.all(Array.from({ length: 50 }, async () => await refs.resolve(repository, 'main')))
  t.equal(runs, 1)
  await refs.resolve({ ...repository, identity: 'another' }, 'main')
  t.equal(runs, 2, 'but not of another repository in its place')
})

t.test('Nothing that the configuration of a repository names is run', async (t) => {
  const { directory, sha, resolve, refs } = await scene(t)
  const mark = join(t.testdirName, 'was-run')
  const script = join(t.testdirName, 'script')
  writeFileSync(script, `#!/bin/sh\ntouch ${mark}\n`)
  chmodSync(script, 0o755)
  appendFileSync(
    join(directory, 'config'),
    `[core]
	fsmonitor = ${script}
	pager = ${script}
	hooksPath = ${t.testdirName}
	sshCommand = ${script}
	gitProxy = ${script}
	askPass = ${script}
[alias]
	show-ref = !${script}
[pager]
	show-ref = ${script}
[gpg]
	program = ${script}
[extensions]
	partialClone = evil
[remote "evil"]
	url = ${directory}
	promisor = true
	uploadpack = ${script}
`,
  )
  t.equal(await resolve('gone'), undefined)
  await git('-C', directory, 'config', 'core.repositoryFormatVersion', '1')
  writeFileSync(join(directory, 'refs/heads/gone'), `${'e'.repeat(40)}\n`)
  refs.forget()
  t.equal(await resolve('main'), sha)
  await t.rejects(resolve('gone'), { name: 'RepositoryUnreadable' }, 'what a ref names may be elsewhere')
  t.notOk(existsSync(mark))
})

t.test('A pipe in a repository is not waited for longer than the deadline', async (t) => {
  const { directory, resolve, defaultBranch, refs } = await scene(t, 'sha1', 300)
  makeGitHang(directory)
  await t.rejects(resolve('main'), { name: 'RepositoryUnreadable', cause: { message: /took longer than 300 ms/ } })
  t.equal(await defaultBranch(), 'main', 'HEAD is read without git')
  rmSync(join(directory, 'HEAD'))
  execFileSync('mkfifo', [join(directory, 'HEAD')])
  refs.forget()
  t.equal(await defaultBranch(), undefined)
  const other = await makeRepositoryWithCommit(join(t.testdirName, 'others'), 'bob/hello')
  t.equal(await readerOf(t, other.directory).resolve('main'), other.sha, 'others are read meanwhile')
})

t.test('Where git hangs in one repository, others are read, and more than may wait are refused', async (t) => {
  const { directory } = await scene(t)
  const other = await makeRepositoryWithCommit(join(t.testdirName, 'others'), 'bob/hello')
  makeGitHang(directory)
  const processes = new GitProcesses({ milliseconds: 4_000 })
  const refs = new Refs(processes)
  let hung = 0
  const hanging = Array.from({ length: 203 }, async (_, index) => {
    try {
      return await refs.resolve({ directory, public: true }, `branch-${index}`)
    } catch (error) {
      if (error instanceof RepositoryUnreadable) hung++
      return error instanceof Error && 'code' in error ? error.code : error instanceof Error && error.name
    }
  })
  const since = performance.now()
  t.equal((await refs.resolve({ directory: other.directory, public: true }, 'main'))?.hex, other.sha)
  t.equal(hung, 0, 'before those that hang have ended')
  const outcomes = await Promise.all(hanging)
  t.strictSame(
    outcomes.map((outcome) => outcome === 'overloaded').lastIndexOf(false),
    200,
    'the last of those who wait has left its place to the other',
  )
  t.equal(outcomes.filter((outcome) => outcome === 'RepositoryUnreadable').length, 201)
  t.ok(performance.now() - since < 20_000, 'together, not one after the other')
  t.equal((await refs.resolve({ directory: other.directory, public: true }, 'main'))?.hex, other.sha)
  // Without waiting for it once more.
  await t.rejects(refs.resolve({ directory, public: true }, 'a'), { cause: { message: 'git hung there just now' } })
  processes.close()
})

t.test('At the end nobody waits for a git that hangs', async (t) => {
  const { directory } = await scene(t)
  const other = await makeRepositoryWithCommit(join(t.testdirName, 'others'), 'bob/hello')
  makeGitHang(directory)
  const processes = new GitProcesses()
  const refs = new Refs(processes)
  const three = ['a', 'b', 'c'].map(async (name) => await refs.resolve({ directory, public: true }, name))
  t.equal((await refs.resolve({ directory: other.directory, public: true }, 'HEAD'))?.hex, other.sha)
  processes.close()
  for (const one of await Promise.allSettled(three))
    t.match(one, { status: 'rejected', reason: { name: 'RepositoryUnreadable', cause: { message: /closed/ } } })
})

t.test('Where git hangs in many repositories, others are read within a second or two', async (t) => {
  const folder = t.testdir()
  const processes = new GitProcesses({ milliseconds: 30_000 })
  const directories = await hangingRepositories(folder, 10)
  const honest = await makeRepositoryWithCommit(folder, 'bob/hello')
  const some = directories.slice(0, 6)
  const run = async (directory: string) => await processes.run(directory, ['show-ref'], 100)
  const hanging = Promise.allSettled([...some, ...some].map(run))
  const refs = new Refs(processes)
  const since = performance.now()
  t.equal((await refs.resolve({ directory: honest.directory, public: true }, 'main'))?.hex, honest.sha)
  // Of the deadline only a part.
  t.ok(performance.now() - since < 15_000)
  const more = directories.slice(6)
  const others = Promise.allSettled([...more, ...more].map(run))
  await until(() => runningIn(folder) >= 16)
  t.equal(runningIn(folder), 16, 'and there is an end to it')
  processes.close()
  await Promise.all([hanging, others])
})

t.test('No more than eight gits run at once, and none after the end', async (t) => {
  const folder = t.testdir()
  const processes = new GitProcesses({ milliseconds: 1_000 })
  const directories = await hangingRepositories(folder, 6)
  const runs = [...directories, ...directories].map((directory) => processes.run(directory, ['show-ref'], 100))
  const outcomes = Promise.allSettled(runs)
  t.equal(runningIn(folder), 8)
  t.ok((await outcomes).every(({ status }) => status === 'rejected'))
  processes.close()
  await t.rejects(processes.run(folder, ['show-ref'], 100), { cause: { message: 'the service is closed' } })
})

t.test('A repository of another owner is read', { skip: process.getuid?.() !== 0 && 'only root can' }, async (t) => {
  const { directory, sha, resolve } = await scene(t)
  execFileSync('chown', ['-R', '65534:65534', directory])
  chownSync(directory, 65534, 65534)
  t.equal(await resolve('main'), sha)
})

t.test('What cannot be read is not taken for missing', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/broken')
  writeFileSync(join(directory, 'config'), '[core\n')
  const { resolve } = readerOf(t, directory)
  await t.rejects(resolve('main'), { name: 'RepositoryUnreadable' })
  await t.rejects(readerOf(t, join(t.testdirName, 'missing')).resolve('main'), { name: 'RepositoryUnreadable' })
})

t.test(
  'HEAD of an empty repository names a branch without a commit; a detached one, or a link, names none',
  async (t) => {
    const empty = await makeRepository(t.testdir(), 'alice/empty')
    const { resolve, defaultBranch } = readerOf(t, empty)
    t.strictSame([await resolve('HEAD'), await defaultBranch()], [undefined, 'main'])
    const { directory, sha } = await makeRepositoryWithCommit(t.testdirName, 'alice/detached')
    writeFileSync(join(directory, 'HEAD'), `${sha}\n`)
    const detached = readerOf(t, directory)
    t.strictSame([await detached.resolve('HEAD'), await detached.defaultBranch()], [sha, undefined])
    const linked = await makeRepositoryWithCommit(t.testdirName, 'alice/linked')
    rmSync(join(linked.directory, 'HEAD'))
    symlinkSync('refs/heads/main', join(linked.directory, 'HEAD'))
    t.equal(await readerOf(t, linked.directory).defaultBranch(), 'main', 'as git of old made them')
  },
)

t.test('More output than may be is no answer', async (t) => {
  const { directory } = await scene(t)
  await t.rejects(new GitProcesses().run(directory, ['show-ref'], 10), {
    name: 'RepositoryUnreadable',
    cause: { message: 'git printed more than 10 bytes' },
  })
})

/** By a pipe that its configuration includes. */
function makeGitHang(directory: string): void {
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  appendFileSync(join(directory, 'config'), `[include]\n\tpath = ${pipe}\n`)
}

async function hangingRepositories(folder: string, count: number): Promise<readonly string[]> {
  const made = Array.from({ length: count }, async (_, index) => {
    const { directory } = await makeRepositoryWithCommit(folder, `alice/r${index}`)
    makeGitHang(directory)
    return directory
  })
  return await Promise.all(made)
}

/** How many gits run in repositories of a folder. */
function runningIn(folder: string): number {
  const commands = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandOf)
  return commands.filter((command) => command.startsWith(`git\0--git-dir=${folder}`)).length
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // it has ended meanwhile
  }
}
