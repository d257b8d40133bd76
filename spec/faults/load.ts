import { EventEmitter, once } from 'node:events'
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { CommandPlace, type Outcome, type Served } from '../fixtures/command.js'
import { git } from '../fixtures/git.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { judge, type Verdict } from './checker.js'
import type { Read, Write } from './history.js'

/** Who nobody answers waits so long before asking again. */
const PAUSE_MILLISECONDS = 20

/** An answer that does not come in this time never comes. */
const PATIENCE_MILLISECONDS = 20_000

export interface LoadOptions {
  readonly reporters?: number
  readonly listers?: number
  readonly repositories?: number
  readonly commits?: number
  readonly contexts?: number
  /** Services that share the store, which can then be no LevelDB. */
  readonly instances?: number
  /** Variables of the services and commands, besides those of the place. */
  readonly environment?: Record<string, string>
  /** Characters that are added to each description; no two are equal. */
  readonly padding?: () => string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/**
 * The real executable on a store of its own, and reporters and listers that never rest, whatever it does, and keep a
 * history of what they were told.
 */
export class Load {
  readonly place: CommandPlace
  readonly #options: Required<LoadOptions>
  readonly #t: Test
  readonly #token: string
  /** Of each repository, its commits. */
  readonly #commits: readonly string[]
  readonly #agent = new Agent({ keepAlive: true })
  /** A connection of its own: a service that can open nothing takes no new ones. */
  readonly #asking = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #events = new EventEmitter()
  readonly #descriptions = new Map<string, string>()
  readonly #writes: (Omit<Write, 'to'> & { readonly answered: number | undefined })[] = []
  readonly #reads: Read[] = []
  /** The latest list of each commit, to ask whether it still holds. */
  readonly #lists = new Map<string, { readonly tag: string; readonly answer: unknown }>()
  /** When services ended: what one of them has not done by then it never does. */
  readonly #ends: number[] = []
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #starting: Promise<unknown> = Promise.resolve()
  #services: readonly Served[]
  #reports = 0
  #acknowledged = 0
  /** When reports were acknowledged last. */
  #acknowledgedAt = performance.now()
  #longestGap = 0
  /**
   * Reports and lists that were answered with something else than 201, 200, 304 and 503 with the time to come again, in
   * words.
   */
  readonly unexpected: string[] = []
  #unavailable = 0

  private constructor(
    t: Test,
    parts: {
      place: CommandPlace
      services: readonly Served[]
      token: string
      commits: readonly string[]
      options: Required<LoadOptions>
    },
  ) {
    this.#t = t
    this.place = parts.place
    this.#services = parts.services
    this.#token = parts.token
    this.#commits = parts.commits
    this.#options = parts.options
    this.#events.setMaxListeners(0)
  }

  /** Starts the service, and then the reporters and listers. */
  static async start(t: Test, folder: string, options: LoadOptions = {}): Promise<Load> {
    const all = {
      reporters: 16,
      listers: 4,
      repositories: 2,
      commits: 8,
      contexts: 6,
      instances: 1,
      environment: {},
      padding: () => '',
      ...options,
    }
    const place = new CommandPlace(folder)
    const commits: string[] = []
    for (let number = 1; number <= all.repositories; number++) {
      const made = await makeRepositoryWithHistory(place.repositories, `alice/repo-${number}`, { commits: all.commits })
      // As a pack, in which a commit is found without another file being opened.
      await git('-C', made.directory, 'repack', '-adq')
      commits.push(...made.commits.map((sha) => `alice/repo-${number} ${sha}`))
    }
    const { environment } = all
    const services = await Promise.all(
      Array.from({ length: all.instances }, async () => await place.serve(t, { environment })),
    )
    const { stdout } = await place.run(['token', 'create', 'alice'], { environment })
    const load = new Load(t, { place, services, commits, options: all, token: stdout.trim().split('\n').at(-1) ?? '' })
    t.teardown(() => {
      load.#end()
    })
    await load.health()
    load.begin()
    return load
  }

  /** The process of the service. */
  get pid(): number {
    return this.#services[0]?.child.pid ?? 0
  }

  /** Whether every process of the services is there. */
  get isAlive(): boolean {
    return this.#services.every(({ child }) => child.exitCode === null && child.signalCode === null)
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  /** How many reports and lists were answered with 503. */
  get unavailable(): number {
    return this.#unavailable
  }

  /** The longest time, while the load was on, in which no report was acknowledged. */
  get longestGap(): number {
    return Math.round(this.#longestGap)
  }

  begin(): void {
    const { reporters, listers } = this.#options
    this.#acknowledgedAt = performance.now()
    const forever = async (one: () => Promise<unknown>): Promise<void> => {
      while (!this.#stopping.signal.aborted) {
        await this.#starting
        await one()
      }
    }
    const report = async () => await this.#report()
    const list = async () => await this.list(this.#any(this.#commits))
    this.#running = Promise.all(
      [...Array<typeof report>(reporters).fill(report), ...Array<typeof list>(listers).fill(list)].map(forever),
    )
  }

  /** Resolves once so many more reports have been acknowledged; rejects when that takes too long. */
  async more(reports: number, milliseconds = 60_000): Promise<void> {
    const enough = this.#acknowledged + reports
    const signal = AbortSignal.timeout(milliseconds)
    while (this.#acknowledged < enough) await once(this.#events, 'acknowledged', { signal })
  }

  /** Resolves once a report on every repository has been acknowledged; rejects when that takes too long. */
  async everywhere(milliseconds = 60_000): Promise<void> {
    const left = new Set(this.#commits.map(repositoryOf))
    const signal = AbortSignal.timeout(milliseconds)
    while (left.size > 0) {
      const [repository] = (await once(this.#events, 'acknowledged', { signal })) as [string]
      left.delete(repository)
    }
  }

  /** Resolves once a report has been answered with 503; it says when to come again. */
  async refused(): Promise<void> {
    await once(this.#events, 'unavailable', { signal: AbortSignal.timeout(60_000) })
  }

  /** What the service says of itself. */
  async health(): Promise<Answer> {
    return await this.#ask('GET', '/healthz', { agent: this.#asking })
  }

  /** Ends the service, or all of them, by a signal, and starts as many again on the store. */
  async restart(signal: NodeJS.Signals): Promise<Outcome> {
    const outcomes = await this.#endServices(signal)
    this.#ends.push(performance.now())
    const { environment } = this.#options
    const starting = Promise.all(outcomes.map(async () => await this.place.serve(this.#t, { environment })))
    // Until then its port may be anybody's.
    this.#starting = starting.catch(() => undefined)
    this.#services = await starting
    return this.#any(outcomes)
  }

  /**
   * Ends the load, kills the service, starts it again, and reads everything. Resolves to what is to be said of the
   * whole history.
   */
  async finish(): Promise<Verdict> {
    this.#stopping.abort()
    await this.#running
    await this.restart('SIGKILL')
    for (const commit of this.#commits)
      if (!(await this.list(commit))) throw new Error(`no list of ${commit} after the end: ${this.unexpected.join()}`)
    this.#end()
    await this.#endServices('SIGTERM')
    const writes = this.#writes.map(({ answered, ...write }): Write => ({
      ...write,
      to: answered ?? this.#ends.find((end) => end > write.from) ?? Infinity,
    }))
    return judge({ writes, reads: this.#reads })
  }

  /** Reads the list of a commit, into the history. Resolves to whether there was one. */
  async list(commit: string): Promise<boolean> {
    const [repository = '', sha = ''] = commit.split(' ')
    const from = performance.now()
    const known = Math.random() < 0.5 ? this.#lists.get(commit) : undefined
    const answer = await this.#ask(
      'GET',
      `/api/v1/repos/${repository}/commits/${sha}/statuses`,
      known && { headers: { 'If-None-Match': known.tag } },
    ).catch(() => undefined)
    const to = performance.now()
    if (!answer) await setTimeout(PAUSE_MILLISECONDS)
    else if (answer.status === 200) {
      this.#reads.push({ commit, from, to, answer: answer.body })
      this.#lists.set(commit, { tag: answer.headers.etag ?? '', answer: answer.body })
      return true
    } else if (answer.status === 304 && known) {
      this.#reads.push({ commit, from, to, answer: known.answer })
      return true
    } else await this.#notDone('list', answer)
    return false
  }

  async #endServices(signal: NodeJS.Signals): Promise<Outcome[]> {
    return await Promise.all(this.#services.map(async (service) => await service.end(signal)))
  }

  async #report(): Promise<void> {
    const number = ++this.#reports
    const commit = this.#any(this.#commits)
    const [repository = '', sha = ''] = commit.split(' ')
    const context = `check ${Math.floor(Math.random() * this.#options.contexts)}`
    const report = {
      context,
      state: this.#any(STATES),
      description: `${number} ${this.#options.padding()}`.trim(),
      target_url: `https://ci.example.com/${number}`,
    }
    this.#descriptions.set(report.description, report.description)
    const from = performance.now()
    const answer = await this.#ask('POST', `/api/v1/repos/${repository}/statuses/${sha}`, { body: report }).catch(
      (error: unknown) => error,
    )
    const now = performance.now()
    if (answer instanceof Error) {
      // A connection that was refused has carried nothing.
      if (!('code' in answer) || answer.code !== 'ECONNREFUSED')
        this.#writes.push({ commit, report, from, answered: undefined, outcome: 'unknown' })
      await setTimeout(PAUSE_MILLISECONDS)
      return
    }
    const { status, body } = answer as Answer
    if (status === 201) {
      this.#writes.push({ commit, report, from, answered: now, outcome: 'acknowledged', answer: body })
      this.#acknowledged++
      this.#longestGap = Math.max(this.#longestGap, now - this.#acknowledgedAt)
      this.#acknowledgedAt = now
      this.#events.emit('acknowledged', repository)
    } else {
      const isRefused = status >= 400 && status < 500
      this.#writes.push({
        commit,
        report,
        from,
        answered: isRefused ? now : undefined,
        outcome: isRefused ? 'refused' : 'unknown',
      })
      await this.#notDone('report', answer as Answer)
    }
  }

  async #notDone(what: string, { status, headers, body }: Answer): Promise<void> {
    const isTold = status === 503 && Number(headers['retry-after']) > 0
    if (!isTold) this.unexpected.push(`${what}: ${status} ${JSON.stringify(body)}`)
    this.#unavailable++
    if (what === 'report') this.#events.emit('unavailable')
    await setTimeout(PAUSE_MILLISECONDS)
  }

  async #ask(
    method: string,
    path: string,
    {
      body,
      headers = {},
      agent = this.#agent,
    }: { body?: object; headers?: Record<string, string>; agent?: Agent } = {},
  ): Promise<Answer> {
    const outgoing = request(`${this.#any(this.#services).url}${path}`, {
      agent,
      method,
      headers: { Authorization: `Bearer ${this.#token}`, ...headers },
      signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
    })
    outgoing.end(body && JSON.stringify(body))
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const answer = await text(incoming)
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      body:
        answer === ''
          ? undefined
          : JSON.parse(answer, (name, value: unknown) => (name === 'description' ? this.#known(value) : value)),
    }
  }

  /** The same text again, so that it is kept once. */
  #known(description: unknown): unknown {
    return typeof description === 'string' ? (this.#descriptions.get(description) ?? description) : description
  }

  #any<T>(list: readonly T[]): T {
    const [found] = list.slice(Math.floor(Math.random() * list.length))
    if (found === undefined) throw new TypeError('a list of nothing')
    return found
  }

  #end(): void {
    this.#stopping.abort()
    this.#agent.destroy()
    this.#asking.destroy()
  }
}

function repositoryOf(commit: string): string {
  return commit.split(' ').slice(0, 1).join()
}
