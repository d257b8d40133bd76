import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Administration } from '../../lib/admin/administration.js'
import { remoteAdministration } from '../../lib/admin/client.js'
import { administrationListener } from '../../lib/admin/server.js'
import { withShortPath } from '../../lib/admin/socket-path.js'
import { AdministrationError } from '../../lib/errors.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { runTask, type TaskStep } from '../../lib/concurrency/task.js'
import { startService } from '../fixtures/service.js'
import { resultOf } from '../fixtures/work.js'

/** The administration of a service that does what it is told here, through its socket; and the messages of its log. */
async function served(t: Test, methods: Partial<Administration>): Promise<{ admin: Administration; log: string[] }> {
  const path = join(t.testdir(), 'socket')
  const log: string[] = []
  const note = (_facts: object, message: string): void => void log.push(message)
  const server = createServer(
    { requestTimeout: 0 },
    administrationListener(methods as Administration, { ...silentLogger, info: note, error: note }),
  )
  await withShortPath(path, async (short) => {
    await once(server.listen(short), 'listening')
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { admin: remoteAdministration(path), log }
}

const COUNTS = { statuses: 0, tokens: 0, grants: 0 }
const LARGE = 'x'.repeat(100_000)

t.test('Work crosses the socket step by step, then its result', async (t) => {
  const { admin, log } = await served(t, {
    async *exportStore(repository) {
      yield { items: [String(repository), 'a\u2028b\n'] }
      yield { progress: { phase: 'x', done: 2, share: 0.5 } }
      yield { items: ['c'], progress: { phase: 'x', done: 3, share: undefined } }
      return null
    },
  })
  const steps: TaskStep<string>[] = []
  t.equal(await runTask(admin.exportStore('alice/hello'), (step) => void steps.push(step)), null)
  t.strictSame(steps, [
    { items: ['alice/hello', 'a\u2028b\n'] },
    { progress: { phase: 'x', done: 2, share: 0.5 } },
    { items: ['c'], progress: { phase: 'x', done: 3 } },
  ])
  t.strictSame(log, [])
})

t.test('Work that fails or is refused half-way says so, after what it has found', async (t) => {
  const { admin, log } = await served(t, {
    async *exportStore(repository) {
      yield { items: ['a'] }
      throw repository === null ? new Error('the disk is gone') : new AdministrationError('no')
    },
  })
  const items: string[] = []
  const take = ({ items: found = [] }: TaskStep<string>): void => void items.push(...found)
  await t.rejects(runTask(admin.exportStore(null), take), { name: 'CommandFailed', message: 'the disk is gone' })
  await t.rejects(runTask(admin.exportStore('x'), take), { name: 'AdministrationError', message: 'no' })
  t.strictSame([items, log], [['a', 'a'], ['a command failed']])
})

t.test('When the client goes away, the service ends the work', async (t) => {
  let tell = (): void => undefined
  const left = new Promise<void>((resolve) => (tell = resolve))
  const { admin, log } = await served(t, {
    async *verifyStore() {
      try {
        for (let done = 0; ; done++) yield { progress: { phase: 'x', done } }
      } finally {
        tell()
      }
    },
  })
  const work = admin.verifyStore()
  await work.next()
  await work.return({ ...COUNTS, damaged: 0, keys: [], problems: [] })
  await left
  await setImmediate()
  t.strictSame(log, ['a command was interrupted'])
})

t.test('The service works no faster than its client takes', async (t) => {
  let made = 0
  const { admin } = await served(t, {
    async *exportStore() {
      for (; made < 300; made++) yield { items: [LARGE] }
      return null
    },
  })
  let [taken, lead] = [0, 0]
  await runTask(admin.exportStore(null), async () => {
    lead = Math.max(lead, made - ++taken)
    if (taken < 100) await new Promise((resolve) => setTimeout(resolve, 5))
  })
  t.equal(taken, 300)
  t.ok(lead < 50, `${lead} steps ahead`)
})

t.test('What is to be imported is sent no faster than the service takes it', async (t) => {
  let [made, taken, lead] = [0, 0, 0]
  const { admin } = await served(t, {
    async *importStore(lines) {
      for await (const line of lines) {
        lead = Math.max(lead, made - ++taken)
        if (taken < 100) yield { progress: { phase: 'x', done: line.length } }
      }
      return { ...COUNTS, saved: taken }
    },
  })
  const lines = async function* (): AsyncGenerator<string> {
    for (; made < 300; made++) yield LARGE
  }
  t.strictSame(await resultOf(admin.importStore(lines())), { ...COUNTS, saved: 300 })
  t.ok(lead < 50, `${lead} lines ahead`)
})

t.test('An import that is refused at once is refused, however much there is to send', async (t) => {
  const { admin } = await served(t, {
    async *importStore(lines) {
      for await (const line of lines) throw new AdministrationError(`no: ${line.length}`)
      return { ...COUNTS, saved: 0 }
    },
  })
  let tell = (): void => undefined
  const left = new Promise<void>((resolve) => (tell = resolve))
  const lines = async function* (): AsyncGenerator<string> {
    try {
      for (;;) yield LARGE
    } finally {
      tell()
    }
  }
  await t.rejects(resultOf(admin.importStore(lines())), { name: 'AdministrationError', message: 'no: 100000' })
  await left
})

t.test('What keeps the input from being read is told as it is, and the service sees no end of it', async (t) => {
  let seen: unknown
  const { admin, log } = await served(t, {
    async *importStore(lines) {
      try {
        for await (const line of lines) yield { progress: { phase: line, done: 1 } }
      } catch (error) {
        seen = error
        throw error
      }
      return { ...COUNTS, saved: 0 }
    },
  })
  const lines = async function* (): AsyncGenerator<string> {
    yield 'a'
    throw new RangeError('no such file')
  }
  await t.rejects(resultOf(admin.importStore(lines())), { name: 'RangeError', message: 'no such file' })
  while (log.length === 0) await setImmediate()
  t.match(seen, Error)
})

t.test('A service that is told to stop ends the work of its commands, and says so', async (t) => {
  const service = await startService(t)
  let closing: Promise<void> | undefined
  // Without an end, and with a sound beginning.
  const lines = async function* (): AsyncGenerator<string> {
    yield '{"type":"export","version":1,"repository":null}'
    for (;;) yield '{"type":"grant","on":"alice","user":"bob","access":"read"}'
  }
  const importing = runTask(service.admin.importStore(lines()), () => {
    closing ??= service.close()
  })
  await t.rejects(importing, { name: 'AdministrationError', message: 'the service was told to stop' })
  await closing
  await t.rejects(resultOf(service.admin.verifyStore()), { name: 'ServiceNotRunning' })
})
