// A disk that does not answer: a look-up in a repository on a network share whose server is gone waits as long as the
// system does. It is answered within 5 seconds all the same, requests for other repositories go on, and a service
// that is told to stop does not wait for it. Here, strace holds up the opening of one file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { CommandPlace, executable, type Served } from '../fixtures/command.js'
import { unknownId } from '../fixtures/finder.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'
import { within } from '../fixtures/within.js'

const skip = await missing('strace')

/** Longer than the test lasts. */
const HELD_MICROSECONDS = 600_000_000

/**
 * Holds up the opening of a file or folder by a service.
 * @returns lets go of it
 */
async function hold(t: Test, service: Served, path: string, trace: string): Promise<() => void> {
  const strace = spawn(
    'strace',
    [
      ...['-f', '-p', String(service.child.pid), '-P', path, '-e', 'trace=openat'],
      ...['-e', `inject=openat:delay_enter=${HELD_MICROSECONDS}`, '-o', trace],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const letGo = (): void => void strace.kill('SIGKILL')
  t.teardown(letGo)
  await once(createInterface(strace.stderr), 'line')
  return letGo
}

async function hasExited({ child }: Served): Promise<boolean> {
  return await within(20_000, () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(' Z '))
}

t.test('A look-up that a disk holds up is answered, others go on, and a stop ends with 0', { skip }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const { directory, sha } = await makeRepositoryWithCommit(place.repositories, 'alice/slow', { public: true })
  await makeRepositoryWithCommit(place.repositories, 'alice/hello', { public: true })
  const service = await place.serve(t)
  const list = async (repository: string, id: string): Promise<number> => {
    const answer = await fetch(`${service.url}/api/v1/repos/${repository}/commits/${id}/statuses`)
    await answer.arrayBuffer()
    return answer.status
  }
  t.equal(await list('alice/slow', unknownId('sha1')), 404)
  const held = join(directory, 'objects', sha.slice(0, 2), sha.slice(2))
  const letGo = await hold(t, service, held, join(place.folder, 'trace'))

  const start = performance.now()
  const state = { isAnswered: false }
  const slow = list('alice/slow', sha).finally(() => (state.isAnswered = true))
  let others = 0
  for (; !state.isAnswered && others < 10; others++) t.equal(await list('alice/hello', unknownId('sha1', others)), 404)
  t.ok(others > 1, `${others} others are answered meanwhile`)
  t.equal(await slow, 503)
  t.ok(performance.now() - start < 10_000, 'it is answered long before the disk answers')

  const again = list('alice/slow', sha)
  t.equal(await list('alice/hello', unknownId('sha1')), 404)
  const ended = service.end('SIGTERM')
  t.ok(await hasExited(service), 'told to stop, it exits soon')
  // It has the thread that it holds up outlive the process.
  letGo()
  const { status, stdout } = await ended
  t.equal(status, 0)
  t.equal(await again, 503, 'the request that was under way is answered')
  t.match(stdout, /it has not answered for 4 s/)
})

t.test('A folder that a disk holds up makes nobody wait but who lists all of them', { skip }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'team/sub/hello', { public: true })
  const held = join(place.repositories, 'bob/slow')
  mkdirSync(held, { recursive: true })
  const service = await place.serve(t)
  const trace = join(place.folder, 'trace')
  const letGo = await hold(t, service, held, trace)
  const listings = Array.from({ length: 8 }, () => place.start(['repo', 'list']))
  const asked = (): number => readFileSync(trace, 'utf8').split(held).length - 1
  t.ok(await within(20_000, () => asked() > 0), 'the disk is asked for it')
  const list = async (id: string): Promise<number> => {
    const answer = await fetch(`${service.url}/api/v1/repos/team/sub%2Fhello/commits/${id}/statuses`)
    await answer.arrayBuffer()
    return answer.status
  }
  for (let number = 0; number < 20; number++) t.equal(await list(unknownId('sha1', number)), 404)
  t.match(await place.run(['token', 'list']), { status: 0 }, 'nor who needs the store')
  t.equal(await list(sha), 200)
  t.equal(asked(), 1, 'and the disk is asked once')
  letGo()
  for (const { ended } of listings) t.match(await ended, { status: 0, stdout: /sub\/hello/ })
})

t.test(
  'What only a note needs keeps no command from its end, nor a token from who waits for it',
  { skip },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    await makeRepositoryWithCommit(place.repositories, 'team/sub/hello')
    const held = join(place.repositories, 'bob')
    mkdirSync(held)
    // Without a service the thread that waits for the disk is the command's own: that holds up its end alone.
    const trace = ['-f', '-P', held, '-e', 'trace=openat', '-e', `inject=openat:delay_enter=${HELD_MICROSECONDS}`]
    const program = ['strace', ...trace, '-o', join(place.folder, 'trace'), executable] as const
    const alone = place.start(['token', 'create', 'bob'], { program: [...program], notes: true })
    const [line] = (await once(createInterface(alone.child.stdout), 'line')) as [string]
    t.match(line, /^Token \w+ of bob/)
    alone.child.kill('SIGKILL')
    await alone.ended

    const service = await place.serve(t)
    await hold(t, service, held, join(place.folder, 'trace'))
    for (const args of [
      ['token', 'create', 'bob'],
      ['access', 'grant', 'bob', 'alice', 'read'],
    ])
      t.match(await place.runProcess(args, { notes: true }), { status: 0, stderr: /^$/ }, args.join(' '))
  },
)
