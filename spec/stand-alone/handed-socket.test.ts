import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, linkSync, lstatSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { handedSocket } from '../../lib/stand-alone/handed-socket.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { freePort } from '../fixtures/free-port.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'

const RESTARTS = 3
const CLIENTS = 8

const systemdIsMissing = await missing('systemd')

/** Where a socket is: as systemd calls it, and as a client does. */
interface Address {
  readonly listen: string
  readonly client: { readonly host: string; readonly port: number } | { readonly socketPath: string }
}

async function tcp(): Promise<Address> {
  const port = await freePort()
  return { listen: `127.0.0.1:${port}`, client: { host: '127.0.0.1', port } }
}

async function unix(t: Test): Promise<Address> {
  const folder = mkdtempSync(join(tmpdir(), 'handed-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const socketPath = join(folder, 'http.sock')
  return await Promise.resolve({ listen: socketPath, client: { socketPath } })
}

/**
 * A service on a socket of systemd, which a shell keeps open in place of systemd: it starts the service once for each
 * line that it reads.
 */
class Unit {
  readonly #child
  readonly #lines: AsyncIterableIterator<string>
  readonly #address: Address

  constructor(t: Test, place: CommandPlace, address: Address, environment: Record<string, string>) {
    const once = `sh -c 'echo "pid $$"; LISTEN_PID=$$ exec "$0" serve' "$0" </dev/null 2>&1; echo "ended $?"`
    const variables = Object.entries({
      PATH: process.env['PATH'] ?? '',
      COMMIT_STATUS_REPOSITORIES: place.repositories,
      COMMIT_STATUS_STORE: `level:${place.store}`,
      COMMIT_STATUS_LOG_LEVEL: 'warn',
      ...environment,
    }).flatMap(([name, value]) => ['-E', `${name}=${value}`])
    const args = ['--listen', address.listen, '--fdname=commit-status.socket', ...variables]
    const shell = ['sh', '-c', `while read -r _; do ${once}; done`, executable]
    this.#child = spawn('systemd-socket-activate', [...args, ...shell], { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
    this.#address = address
    t.teardown(() => this.#child.stdin.end())
  }

  /** Connects, since systemd hands the socket over at the first connection. */
  async listen(): Promise<void> {
    for (;;) {
      const socket = connectTo(this.#address)
      const isListening = await once(socket, 'connect').then(
        () => true,
        () => false,
      )
      socket.destroy()
      if (isListening) return
    }
  }

  /** @returns the process, and the line in which it says where it serves */
  async start(): Promise<{ pid: number; line: string }> {
    this.#child.stdin.write('\n')
    const pid = Number((await this.#next(/^pid (\d+)$/))[1])
    const { input } = await this.#next(/^commit-status: .*$/)
    return { pid, line: input }
  }

  /** @returns its exit status */
  async stop(pid: number): Promise<number> {
    process.kill(pid, 'SIGTERM')
    return Number((await this.#next(/^ended (\d+)$/))[1])
  }

  async #next(form: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const { value, done } = (await this.#lines.next()) as IteratorResult<string, undefined>
      if (done) throw new Error('nothing more is said')
      const found = form.exec(value)
      if (found) return found
    }
  }
}

function connectTo({ client }: Address): Socket {
  return 'socketPath' in client ? connect(client.socketPath) : connect(client)
}

async function ask(address: Address, { agent, path, token = '', body = '' }: Asked): Promise<number | undefined> {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ ...address.client, path, agent, method: body === '' ? 'GET' : 'POST' }, resolve)
      .setHeader('Authorization', `Bearer ${token}`)
      .on('error', reject)
      .end(body)
  })
  await text(incoming)
  return incoming.statusCode
}

interface Asked {
  readonly agent: Agent | false
  readonly path: string
  readonly token?: string
  readonly body?: string
}

for (const [kind, make] of [
  ['TCP', tcp],
  ['Unix', unix],
] as const) {
  t.test(
    `Through restarts on a ${kind} socket of systemd every request is answered`,
    { skip: systemdIsMissing },
    async (t) => {
      const place = new CommandPlace(t.testdir())
      const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello', { public: true })
      const token = await place.tokenOf('alice')
      const address = await make(t)
      // A quarter of it is how long a client may take for the next request on a connection that is open.
      const unit = new Unit(t, place, address, { COMMIT_STATUS_LIMIT_CLOSE_SECONDS: '240' })
      await unit.listen()
      const first = await unit.start()
      let { pid } = first
      t.match(first.line, `serving ${kind === 'TCP' ? `http://${address.listen}` : 'unix:commit-status.socket'} for `)

      const state = { over: false }
      const statuses = new Map<number | undefined, number>()
      const client = async (index: number): Promise<void> => {
        // On a connection each, or all on one.
        const agent = index % 2 === 0 ? false : new Agent({ keepAlive: true, maxSockets: 1 })
        const report = { path: `/api/v1/repos/alice/hello/statuses/${sha}`, token }
        const list = { path: `/api/v1/repos/alice/hello/commits/${sha}/statuses`, token }
        for (let turn = 0; !state.over; turn++) {
          const body = JSON.stringify({ state: 'success', context: `client-${index}` })
          const status = await ask(address, { agent, ...(turn % 2 === 0 ? { ...report, body } : list) })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
        if (agent) agent.destroy()
      }
      const clients = Promise.all(
        Array.from({ length: CLIENTS }, async (_, index) => {
          await client(index)
        }),
      )
      const count = () => [...statuses.values()].reduce((sum, more) => sum + more, 0)
      const moreThan = async (before: number): Promise<void> => {
        while (count() <= before) await ask(address, { agent: false, path: '/healthz' })
      }
      const restart = async () => {
        for (let restarts = 0; restarts < RESTARTS; restarts++) {
          await moreThan(count() + 10 * CLIENTS)
          t.equal(await unit.stop(pid), 0)
          ;({ pid } = await unit.start())
        }
        await moreThan(count() + 10 * CLIENTS)
        state.over = true
      }
      await Promise.all([clients, restart()])
      t.strictSame([...statuses.keys()].sort(), [200, 201], `${count()} requests`)
      t.equal(await unit.stop(pid), 0)
    },
  )
}

t.test('Who connects while no service runs is answered by the next one', { skip: systemdIsMissing }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const address = await unix(t)
  const unit = new Unit(t, place, address, {})
  await unit.listen()
  const first = await unit.start()
  t.equal(await ask(address, { agent: false, path: '/healthz' }), 200)
  await unit.stop(first.pid)
  t.ok(lstatSync(address.listen).isSocket(), 'it is not the service that removes it')
  const waiting = Promise.all(
    Array.from({ length: 20 }, async () => await ask(address, { agent: false, path: '/healthz' })),
  )
  const second = await unit.start()
  t.strictSame(new Set(await waiting), new Set([200]))
  await unit.stop(second.pid)
})

t.test(
  'A client that sends nothing more does not keep the service from its end',
  { skip: systemdIsMissing },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const address = await tcp()
    const unit = new Unit(t, place, address, { COMMIT_STATUS_LIMIT_CLOSE_SECONDS: '1' })
    await unit.listen()
    const { pid } = await unit.start()
    const idle = connectTo(address)
    await once(idle, 'connect')
    // Taken before this one, which has an answer.
    t.equal(await ask(address, { agent: false, path: '/healthz' }), 200)
    const ended = once(idle, 'close')
    idle.resume()
    t.equal(await unit.stop(pid), 0)
    t.strictSame(await ended, [false], 'it was closed, not reset')
  },
)

t.test('What is handed over to another process does not count', async (t) => {
  const named = { LISTEN_FDS: '1', LISTEN_FDNAMES: 'commit-status.socket' }
  t.strictSame(handedSocket({ ...named, LISTEN_PID: '7' }, 7), { fd: 3, name: 'commit-status.socket' })
  t.strictSame(handedSocket({ LISTEN_FDS: '1', LISTEN_PID: '7' }, 7), { fd: 3, name: 'unknown' })
  for (const environment of [{}, named, { ...named, LISTEN_PID: '17' }, { LISTEN_PID: '7' }])
    t.equal(handedSocket(environment, 7), undefined)
})

t.test('More than one socket is refused', async (t) => {
  const place = new CommandPlace(t.testdir())
  const several = { LISTEN_PID: String(process.pid), LISTEN_FDS: '2', LISTEN_FDNAMES: 'commit-status.socket:other' }
  t.match(await place.run(['serve'], { environment: several }), {
    status: 1,
    stderr:
      'commit-status: systemd hands over 2 sockets (commit-status.socket:other), and the service listens on one: ' +
      'leave one ListenStream in one socket unit\n',
  })
})

const program = fileURLToPath(new URL('../fixtures/handed-socket-process.ts', import.meta.url))

/** A service in a process that has this as its file descriptor 3. */
async function startOn(t: Test, descriptor: number) {
  const folder = t.testdir({ repositories: {} })
  const args = [...process.execArgv, program, join(folder, 'repositories'), join(folder, 'store')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', descriptor] })
  t.teardown(() => child.kill('SIGKILL'))
  const output = child.stdio[1]
  if (!output) throw new Error('it was asked for')
  const [line] = (await once(createInterface(output), 'line')) as [string]
  return { child, line }
}

/** Node.js names the file descriptor of a server nowhere else. */
function descriptorOf(server: Server): number {
  return Number(Reflect.get(Object(Reflect.get(server, '_handle')), 'fd'))
}

t.test('Whoever listens may hand the socket over, and closes it for nobody else', async (t) => {
  const address = await unix(t)
  for (const place of [{ host: '127.0.0.1', port: 0 }, { path: `${address.listen}.first` }]) {
    const server = createServer()
    await once(server.listen(place), 'listening')
    t.teardown(() => server.close())
    const at = server.address()
    // The system removes no other name of the socket when this process closes it.
    if (typeof at === 'string') linkSync(at, address.listen)
    const { child, line } = await startOn(t, descriptorOf(server))
    await promisify(server.close.bind(server))()
    const port = typeof at === 'string' ? 0 : at?.port
    t.equal(line, port === 0 ? 'unix:http' : `http://127.0.0.1:${port}`)
    const client = port === 0 ? address.client : { host: '127.0.0.1', port: Number(port) }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.equal(await ask({ listen: '', client }, { agent, path: '/healthz' }), 200)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
    agent.destroy()
  }
})

t.test('A file that is handed over is refused', async (t) => {
  const file = openSync('/dev/null', 'r')
  const { line } = await startOn(t, file)
  closeSync(file)
  t.match(line, /^StartError: cannot listen on the socket http of systemd: listen EINVAL: .*; its unit says where$/)
})
