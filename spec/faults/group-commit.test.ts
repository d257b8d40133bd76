// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'

const REPORTERS = 64
const REPORTS = 20

const skip = await missing('strace')

t.test(
  `${REPORTERS} reporters at once share their fsyncs: at most one for 8 reports, and at least one before each answer`,
  { skip },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const service = await place.serve(t, { environment: { COMMIT_STATUS_LIMIT_CONTEXTS: '10000' } })
    const token = (await place.run(['token', 'create', 'alice'])).stdout.trim().split('\n').at(-1) ?? ''
    const agent = new Agent({ keepAlive: true, maxSockets: REPORTERS })
    t.teardown(() => {
      agent.destroy()
    })
    const report = async (context: string): Promise<number | undefined> => {
      const outgoing = request(`${service.url}/api/v1/repos/alice/hello/statuses/${sha}`, {
        agent,
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
      })
      outgoing.end(JSON.stringify({ context, state: 'success' }))
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
      await once(incoming.resume(), 'end')
      return incoming.statusCode
    }
    const reporter = async (_: unknown, number: number): Promise<(number | undefined)[]> => {
      const answers: (number | undefined)[] = []
      for (let index = 0; index < REPORTS; index++) answers.push(await report(`${number} ${index}`))
      return answers
    }
    await report('first')

    const trace = join(place.folder, 'trace')
    const strace = spawn(
      'strace',
      ['-f', '-p', String(service.child.pid), '-e', 'trace=fsync,fdatasync', '-o', trace],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    t.teardown(() => strace.kill('SIGKILL'))
    await once(createInterface(strace.stderr), 'line')
    const answers = (await Promise.all(Array.from({ length: REPORTERS }, reporter))).flat()
    strace.kill('SIGINT')
    await once(strace, 'exit')

    t.strictSame(
      answers.filter((status) => status !== 201),
      [],
    )
    const syncs = readFileSync(trace, 'utf8').match(/^\d+ +f(?:data)?sync\(/gm)?.length ?? 0
    t.ok(syncs >= REPORTS && syncs <= (REPORTERS * REPORTS) / 8, `${syncs} for ${answers.length} reports`)
  },
)
