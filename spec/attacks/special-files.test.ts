// Files that are not files. To open a named pipe is to wait for whoever writes into it: an included config, a
// config.worktree or a pack index that was one held up the request for ever, 24 such repositories held up everybody's,
// while /healthz was 200, and the service did not come to its end when told to stop. What is no regular file is never
// waited for, wherever it stands and whenever it comes; nor is a device read, which has no end.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPlace, type Served } from '../fixtures/command.js'
import { formats, unknownId } from '../fixtures/finder.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'

/** Five seconds are allowed for an answer, and as many for what else this machine does. */
const MAX_MILLISECONDS = 10_000

/** How long a request waits here, so that a test fails and does not hang: a pipe holds it up for ever. */
const PATIENCE_MILLISECONDS = 30_000

interface Trap {
  /** Puts the file where `path` says. */
  readonly put: (path: string) => void
  readonly at: (sha: string) => string
  /** What is written into the config besides. */
  readonly config?: string
  /** What is answered for the commit that is there, and for an id that is not. */
  readonly answers: readonly [known: number, unknown: number]
}

const index = `objects/pack/pack-${'ab'.repeat(20)}.idx`
const pack = index.replace('.idx', '.pack')
const loose = (id: string) => `objects/${id.slice(0, 2)}/${id.slice(2)}`

const traps: Record<string, Trap> = {
  'a pipe for an included config': {
    put: makePipe,
    at: () => 'included',
    config: '[include]\n\tpath = included\n[includeIf "gitdir:**"]\n\tpath = included\n',
    answers: [200, 404],
  },
  'a pipe for config.worktree': {
    put: makePipe,
    at: () => 'config.worktree',
    config: '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n',
    answers: [200, 404],
  },
  'a pipe for config': { put: replaceByPipe, at: () => 'config', answers: [503, 503] },
  'a pipe for HEAD': { put: replaceByPipe, at: () => 'HEAD', answers: [503, 503] },
  'a pipe for refs': { put: replaceByPipe, at: () => 'refs', answers: [503, 503] },
  'a pipe for a branch': { put: replaceByPipe, at: () => 'refs/heads/main', answers: [200, 404] },
  'a pipe for packed-refs': { put: makePipe, at: () => 'packed-refs', answers: [200, 404] },
  'a pipe for commondir': { put: makePipe, at: () => 'commondir', answers: [200, 404] },
  'a pipe for shallow': { put: makePipe, at: () => 'shallow', answers: [200, 404] },
  'a pipe for info/grafts': { put: makePipe, at: () => 'info/grafts', answers: [200, 404] },
  'a pipe for objects': { put: replaceByPipe, at: () => 'objects', answers: [503, 503] },
  'a pipe for objects/info/alternates': { put: makePipe, at: () => 'objects/info/alternates', answers: [503, 503] },
  'a pipe for the commit-graph': { put: makePipe, at: () => 'objects/info/commit-graph', answers: [200, 404] },
  'a pipe for objects/pack': { put: replaceByPipe, at: () => 'objects/pack', answers: [200, 503] },
  'a pipe for a pack index': { put: makePipe, at: () => index, answers: [200, 503] },
  'a pipe for a multi-pack-index': { put: makePipe, at: () => 'objects/pack/multi-pack-index', answers: [200, 503] },
  'a pipe for the commit': { put: replaceByPipe, at: loose, answers: [503, 404] },
  'a pipe for the id that is asked for': {
    put: makePipe,
    at: ({ length }) => loose(unknownId(length === 40 ? 'sha1' : 'sha256')),
    answers: [200, 503],
  },
  'a link to a pipe for a pack index': { put: linkToPipe, at: () => index, answers: [200, 503] },
  'a link to a pipe for the commit': { put: linkToPipe, at: loose, answers: [503, 404] },
  'a socket for a pack index': { put: makeSocket, at: () => index, answers: [200, 503] },
  'a folder for a pack index': { put: (path) => mkdirSync(path), at: () => index, answers: [200, 503] },
  'an endless device for a pack index': { put: linkToZeroes, at: () => index, answers: [200, 503] },
  'an endless device for the commit': { put: linkToZeroes, at: loose, answers: [503, 404] },
  'an endless device for config': { put: linkToZeroes, at: () => 'config', answers: [503, 503] },
  'an endless device for HEAD': { put: linkToZeroes, at: () => 'HEAD', answers: [503, 503] },
  'an endless device for alternates': {
    put: linkToZeroes,
    at: () => 'objects/info/alternates',
    answers: [503, 503],
  },
}

function makePipe(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  execFileSync('mkfifo', [path])
}

function replaceByPipe(path: string): void {
  rmSync(path, { recursive: true })
  makePipe(path)
}

function linkToPipe(path: string): void {
  rmSync(path, { force: true })
  makePipe(`${path}.pipe`)
  symlinkSync(`${path}.pipe`, path)
}

function linkToZeroes(path: string): void {
  rmSync(path, { force: true })
  symlinkSync('/dev/zero', path)
}

/** By a shorter name, as the path of a socket may have 107 bytes. */
function makeSocket(path: string): void {
  execFileSync('python3', [
    '-c',
    'import os,socket,sys\nos.chdir(sys.argv[1])\nsocket.socket(1).bind(sys.argv[2])',
    dirname(path),
    's',
  ])
  renameSync(join(dirname(path), 's'), path)
}

interface Answered {
  readonly status: number
  readonly milliseconds: number
}

/** Asks for a list; status 0 where no answer came. */
async function list({ url }: Served, repository: string, sha: string): Promise<Answered> {
  const start = performance.now()
  const signal = AbortSignal.timeout(PATIENCE_MILLISECONDS)
  const status = await fetch(`${url}/api/v1/repos/${repository}/commits/${sha}/statuses`, { signal }).then(
    async (response) => {
      await response.arrayBuffer()
      return response.status
    },
    () => 0,
  )
  return { status, milliseconds: performance.now() - start }
}

/** Those of the answers that are not in time. */
function late(answers: readonly Answered[]): readonly Answered[] {
  return answers.filter(({ milliseconds }) => milliseconds > MAX_MILLISECONDS)
}

/** Tells it to stop; it does so at once and in good order. */
async function stops(t: Test, service: Served): Promise<string> {
  const start = performance.now()
  const { status, stdout } = await service.end('SIGTERM')
  t.equal(status, 0, 'told to stop, it ends with 0')
  t.ok(performance.now() - start < MAX_MILLISECONDS, 'and soon')
  return stdout
}

/** It makes a socket. */
const noPython = await missing('python3')

for (const format of formats) {
  t.test(
    `Wherever a file is that is none (${format}), each request is answered, and a stop ends with 0`,
    { skip: noPython },
    async (t) => {
      const place = new CommandPlace(t.testdir())
      const names = Object.keys(traps)
      const commits = new Map<string, string>()
      for (const [number, { put, at, config }] of Object.values(traps).entries()) {
        const repository = `mallory/trap-${number}`
        const { directory, sha } = await makeRepositoryWithCommit(place.repositories, repository, {
          format,
          public: true,
        })
        if (at(sha) === index) writeFileSync(join(directory, pack), 'PACK')
        put(join(directory, at(sha)))
        if (config !== undefined) appendFileSync(join(directory, 'config'), config)
        commits.set(repository, sha)
      }
      const honest = await makeRepositoryWithCommit(place.repositories, 'alice/hello', { format, public: true })
      const service = await place.serve(t)

      const asked = [...commits].map(
        async ([repository, sha]) =>
          await Promise.all([list(service, repository, sha), list(service, repository, unknownId(format))]),
      )
      t.equal((await list(service, 'alice/hello', honest.sha)).status, 200, 'others go on')
      t.equal((await list(service, 'alice/hello', unknownId(format))).status, 404, 'also with what they do not have')
      const answers = await Promise.all(asked)
      t.strictSame(
        Object.fromEntries(answers.map((pair, number) => [names[number], pair.map(({ status }) => status)])),
        Object.fromEntries(Object.entries(traps).map(([name, trap]) => [name, trap.answers])),
      )
      t.strictSame(late(answers.flat()), [], 'each within 5 seconds')
      await stops(t, service)
    },
  )

  t.test(
    `24 repositories (${format}) get a pipe for a pack index while they are held open: others go on`,
    async (t) => {
      const place = new CommandPlace(t.testdir())
      const repositories = Array.from({ length: 24 }, (_, number) => `mallory/trap-${number}`)
      const directories: string[] = []
      for (const repository of repositories) {
        directories.push(
          (await makeRepositoryWithCommit(place.repositories, repository, { format, public: true })).directory,
        )
      }
      const honest = await makeRepositoryWithCommit(place.repositories, 'alice/hello', { format, public: true })
      const service = await place.serve(t)
      const opened = await Promise.all(
        repositories.map(async (repository) => await list(service, repository, unknownId(format))),
      )
      t.strictSame(new Set(opened.map(({ status }) => status)), new Set([404]))

      for (const directory of directories) {
        // libgit2 opens the index of a pack that is there.
        writeFileSync(join(directory, pack), 'PACK')
        makePipe(join(directory, index))
      }
      const asked = repositories.map(async (repository) => await list(service, repository, unknownId(format, 1)))
      const others: Answered[] = []
      for (let number = 0; number < 20; number++)
        others.push(await list(service, 'alice/hello', unknownId(format, number)))
      t.strictSame(new Set(others.map(({ status }) => status)), new Set([404]))
      t.strictSame(late(others), [])
      t.equal((await list(service, 'alice/hello', honest.sha)).status, 200)
      const answers = await Promise.all(asked)
      t.strictSame(new Set(answers.map(({ status }) => status)), new Set([503]))
      t.strictSame(late(answers), [], 'each within 5 seconds')
      t.match(await stops(t, service), /pack-(ab)+\.idx is not a regular file/, 'the log says what is wrong')
    },
  )
}

t.test('Pages of repositories in which git hangs: each within 5 seconds, and the next visits at once', async (t) => {
  const place = new CommandPlace(t.testdir())
  for (let number = 0; number < 5; number++) {
    const options = { public: true }
    const { directory } = await makeRepositoryWithCommit(place.repositories, `mallory/trap-${number}`, options)
    makePipe(join(directory, 'packed-refs'))
  }
  await makeRepositoryWithCommit(place.repositories, 'alice/hello', { public: true })
  const service = await place.serve(t)
  const visit = async (path: string): Promise<number> => {
    const since = performance.now()
    const signal = AbortSignal.timeout(PATIENCE_MILLISECONDS)
    const response = await fetch(service.url + path, { signal, headers: { Accept: 'text/html' } })
    t.match(await response.text(), path === '/' ? 'mallory/trap-4' : 'alice/hello')
    t.equal(response.status, 200)
    return performance.now() - since
  }
  const [home, other] = await Promise.all([visit('/'), visit('/repos/alice/hello?ref=main')])
  t.ok(home < MAX_MILLISECONDS, `the home page took ${Math.round(home)} ms`)
  t.ok(other < home, `another repository's took ${Math.round(other)} ms`)
  const again = await visit('/')
  t.ok(again < home / 2, `the next visit took ${Math.round(again)} ms`)
  await stops(t, service)
})
