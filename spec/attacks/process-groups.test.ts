// Ctrl-C in a terminal, and `kill` to a process group, signal npm and the service alike, and npm passes its own on: the
// service took the second one for an impatient admin, and left the reports under way without an answer.
import { execFileSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CommandPlace, type Started } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const npmStart = ['npm', '--prefix', root, 'start'] as const

interface Way {
  readonly how: string
  /** Starts the service, and tells how it is signalled; `again`: a second time, as npm does when it is slow. */
  start(place: CommandPlace, environment: Record<string, string>): Promise<Signalled>
}

interface Signalled extends Started {
  readonly signal: () => Promise<unknown>
  readonly again?: () => unknown
}

const ways: readonly Way[] = [
  {
    how: 'SIGTERM, and once more a moment later,',
    start: (place, environment) => {
      const started = place.start(['serve'], { environment })
      const again = (): unknown => started.child.kill('SIGTERM')
      return Promise.resolve({ ...started, signal: () => Promise.resolve(again()), again })
    },
  },
  {
    how: 'Ctrl-C in a terminal',
    start: async (place, environment) => {
      const keys = join(place.folder, 'keys')
      execFileSync('mkfifo', [keys])
      const command = `exec script --quiet --return --command 'exec ${npmStart.join(' ')}' /dev/null <keys`
      const started = place.start([], { environment, program: ['sh', '-c', command] })
      const keyboard = await open(keys, 'w')
      // The terminal stays until the service has ended.
      void started.ended.finally(async () => await keyboard.close())
      return { ...started, signal: async () => await keyboard.write('\x03') }
    },
  },
  ...(['SIGINT', 'SIGTERM'] as const).map((signal): Way => ({
    how: `${signal} to the process group`,
    start: (place, environment) => {
      const started = place.start([], { environment, program: ['setsid', ...npmStart] })
      const { pid } = started.child
      if (pid === undefined) throw new Error('npm was not started')
      return Promise.resolve({ ...started, signal: () => Promise.resolve(process.kill(-pid, signal)) })
    },
  })),
]

for (const { how, start } of ways) {
  t.test(`${how} lets the service answer a report that is arriving, and ends it with 0`, async (t) => {
    const place = new CommandPlace(t.testdir())
    const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const created = await place.run(['token', 'create', 'alice'])
    const token = created.stdout.trimEnd().split('\n').at(-1)
    const { child, ended, signal, again } = await start(place, {
      HOME: place.folder,
      npm_config_update_notifier: 'false',
    })
    t.teardown(() => child.kill('SIGTERM'))
    const url = await Promise.race([addressIn(child), ended.then(({ stdout, stderr }) => stdout + stderr)])

    const busy = await RawSocket.open(t, url)
    const idle = await RawSocket.open(t, url)
    const head = requestHead('POST', `/api/v1/repos/alice/hello/statuses/${sha}`, {
      Authorization: `Bearer ${token}`,
      'Content-Length': '19',
    })
    await busy.send(head)
    await idle.send(requestHead('GET', '/healthz'))
    t.equal((await idle.answer()).status, 200, 'what was sent before has arrived')
    await signal()
    await idle.ended()
    again?.()
    // As long as npm takes to pass the signal on, many times over, and shorter than a person waits.
    await busy.send('{"state":')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await busy.send('"success"}')
    t.equal((await busy.answer()).status, 201)
    t.match(await ended, { status: 0 })
  })
}

/** The address that the service says it serves, on its standard error or on the terminal. */
async function addressIn({ stdout, stderr }: Started['child']): Promise<string> {
  return await new Promise((resolve) => {
    for (const stream of [stdout, stderr])
      createInterface(stream).on('line', (line) => {
        const [, url] = /serving (http:\/\/\S+)/.exec(line) ?? []
        if (url !== undefined) resolve(url)
      })
  })
}
