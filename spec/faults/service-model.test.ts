// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { deepStrictEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { combinedState, type CommitStatus, type Report, toApiStatus, STATES } from '../../lib/domain/commit-status.js'
import { createCommitStatusService, type CommitStatusService } from '../../lib/index.js'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { fetchJson } from '../fixtures/embedded.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { ModelStore } from '../fixtures/model-store.js'
import { repositoryNamed } from '../fixtures/names.js'
import { isLong } from './fault.js'

const NAMES = ['alice/one', 'alice/two', 'bob/one'] as const

/** The repositories, which all have the same commits, and every store. */
const folder = mkdtempSync(join(tmpdir(), 'service-model-'))
t.teardown(() => {
  rmSync(folder, { recursive: true })
})

/** A service, behind HTTP, that goes down and comes up again. */
class Hosted {
  #store = join(folder, 'stores', String(Math.random()))
  #service: CommitStatusService | undefined
  #server = createServer()
  #url = ''

  async start(): Promise<void> {
    const service = await createCommitStatusService({
      repositories: join(folder, 'repositories'),
      store: `level:${this.#store}`,
      commands: false,
      clock: { now: () => time },
      // Everybody may do everything.
      authenticator: { authenticate: async () => ({ user: 'alice', scopes: ['repo'] }) },
      accessPolicy: { access: async () => 'write' },
    })
    this.#service = service
    this.#server = createServer((request, response) => service.handler(request, response)).listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v1/repos`
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await this.#service?.close()
  }

  /** Goes on with what is on the disk at this moment. */
  async crash(): Promise<void> {
    const left = `${this.#store}+`
    copyAtOneMoment(this.#store, left)
    await this.stop()
    this.#store = left
    await this.start()
  }

  get library(): CommitStatusService {
    if (!this.#service) throw new TypeError('it has not been started')
    return this.#service
  }

  async report(repository: string, sha: string, report: Report): Promise<Record<string, unknown>> {
    const { status, body } = await fetchJson(`${this.#url}/${repository}/statuses/${sha}`, {
      method: 'POST',
      token: 'cst_x',
      body: report,
    })
    deepStrictEqual(status, 201)
    return body
  }

  async list(repository: string, sha: string): Promise<Record<string, unknown>> {
    const { status, body } = await fetchJson(`${this.#url}/${repository}/commits/${sha}/statuses`, { token: 'cst_x' })
    deepStrictEqual(status, 200)
    return body
  }
}

/**
 * Copies a folder as a crash leaves it: as it was at one moment. LevelDB merges tables meanwhile, so it is copied again
 * until nothing has come, gone or changed since before.
 */
function copyAtOneMoment(from: string, to: string): void {
  const stamp = (): string =>
    readdirSync(from)
      .sort()
      .map((name) => `${name} ${JSON.stringify(statSync(join(from, name), { throwIfNoEntry: false }))}`)
      .join()
  for (;;) {
    const before = stamp()
    try {
      cpSync(from, to, { recursive: true })
      if (stamp() === before) return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    rmSync(to, { recursive: true, force: true })
  }
}

/** For the service and the model: later with each report. */
let time = Date.parse('2026-01-31T12:00:00.000Z')

class Step implements fc.AsyncCommand<ModelStore, Hosted> {
  readonly #words: string
  readonly #run: (model: ModelStore, real: Hosted) => Promise<void>

  constructor(words: string, run: (model: ModelStore, real: Hosted) => Promise<void>) {
    this.#words = words
    this.#run = run
  }

  check(): boolean {
    return true
  }

  async run(model: ModelStore, real: Hosted): Promise<void> {
    await this.#run(model, real)
  }

  toString(): string {
    return this.#words
  }
}

t.test(
  'Whatever is reported, listed, renamed and deleted, over restarts and crashes, the service answers as the model',
  async (t) => {
    const [first] = NAMES
    const { directory, commits } = await makeRepositoryWithHistory(join(folder, 'repositories'), first, { commits: 2 })
    for (const name of NAMES.slice(1))
      cpSync(directory, join(folder, 'repositories', `${name}.git`), { recursive: true })

    const name = fc.constantFrom(...NAMES)
    const sha = fc.constantFrom(...commits)
    const report = fc.record({
      context: fc.constantFrom('default', 'ci/a', 'ci', '\uffff', '\u{1f600}'),
      state: fc.constantFrom(...STATES),
      description: fc.constantFrom(null, '', 'ok'),
      target_url: fc.constantFrom(null, 'https://ci.example/'),
    })
    const reports = fc.array(fc.tuple(name, sha, report), { minLength: 1, maxLength: 6 })
    const step = <T extends unknown[]>(
      words: string,
      args: { [K in keyof T]: fc.Arbitrary<T[K]> },
      run: (model: ModelStore, real: Hosted, ...args: T) => Promise<void>,
    ) =>
      fc
        .tuple<T>(...args)
        .map((values) => new Step(`${words} ${fc.stringify(values)}`, (model, real) => run(model, real, ...values)))
    const commands = [
      step('report', [reports], async (model, real, sent) => {
        time++
        // At once; of one context only the last, since any of them might win.
        const last = Array.from(
          new Map(sent.map((each) => [JSON.stringify([each[0], each[1], each[2].context]), each])).values(),
        )
        const answers = await Promise.all(last.map(async ([name, sha, report]) => await real.report(name, sha, report)))
        for (const [index, [name, sha, report]] of last.entries()) {
          const { status } = await model.statuses.save(repositoryNamed(name), commitOf(sha), report, time)
          deepStrictEqual(withoutId(answers[index]), withoutId(toApiStatus(status)))
        }
      }),
      step('list', [name, sha], same),
      step('rename', [name, name], async (model, real, from, to) => {
        await real.library.renameRepository(from, to)
        await model.renameRepository(repositoryNamed(from), repositoryNamed(to))
      }),
      step('delete', [name], async (model, real, name) => {
        await real.library.deleteRepository(name)
        await model.deleteRepository(repositoryNamed(name))
      }),
      step('restart', [], async (_model, real) => {
        await real.stop()
        await real.start()
      }),
      step('crash', [], async (_model, real) => await real.crash()),
    ]
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: 'max' }), async (sequence) => {
        const [model, real] = [new ModelStore(), new Hosted()]
        await real.start()
        try {
          await fc.asyncModelRun(() => ({ model, real }), sequence)
          await real.crash()
          for (const name of NAMES) for (const sha of commits) await same(model, real, name, sha)
        } finally {
          await real.stop()
        }
      }),
      { numRuns: isLong ? 300 : 12 },
    )
    t.pass('every sequence gave equal answers')
  },
)

/** A list is what the model has. */
async function same(model: ModelStore, real: Hosted, name: string, sha: string): Promise<void> {
  const expected = await model.statuses.list(repositoryNamed(name), commitOf(sha))
  const { state, statuses } = await real.list(name, sha)
  deepStrictEqual((statuses as CommitStatus[]).map(withoutId), expected.map(toApiStatus).map(withoutId))
  deepStrictEqual(state, combinedState(expected.map((status) => status.state)))
  const ids = new Set((statuses as CommitStatus[]).map(({ id }) => id))
  deepStrictEqual(ids.size, expected.length)
}

function commitOf(sha: string) {
  const id = parseObjectId(sha)
  if (!id) throw new TypeError(sha)
  return id
}

function withoutId(status: object | undefined): object {
  return Object.fromEntries(Object.entries(status ?? {}).filter(([name]) => name !== 'id'))
}
