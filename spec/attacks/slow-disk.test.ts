// A disk that does not answer: a look-up in a repository on a network share whose server is gone waits as long as the
// system does. It is answered within 5 seconds all the same, requests for other repositories go on, and a service
// that is told to stop does not wait for it. Here, strace holds up the opening of one file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { unknownId } from '../fixtures/finder.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'
import { within } from '../fixtures/within.js'

const skip = await missing('strace')

/** Longer than the test lasts. */
const HELD_MICROSECONDS = 40_000_000

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
  const strace = spawn(
    'strace',
    [
      ...['-f', '-p', String(service.child.pid), '-P', held, '-e', 'trace=openat'],
      ...['-e', `inject=openat:delay_enter=${HELD_MICROSECONDS}`, '-o', join(place.folder, 'trace')],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  t.teardown(() => strace.kill('SIGKILL'))
  await once(createInterface(strace.stderr), 'line')

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
  const stat = `/proc/${service.child.pid}/stat`
  t.ok(await within(20_000, () => readFileSync(stat, 'utf8').includes(' Z ')), 'told to stop, it exits soon')
  // It has the thread that it holds up outlive the process.
  strace.kill('SIGKILL')
  const { status, stdout } = await ended
  t.equal(status, 0)
  t.equal(await again, 503, 'the request that was under way is answered')
  t.match(stdout, /it has not answered for 4 s/)
})
