import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Place } from './data.js'

const executable = fileURLToPath(new URL('../../scripts/commit-status', import.meta.url))

/** What composite does for a list besides two stats. */
export interface Work {
  /** One scan: lists are not in memory. */
  readonly scans?: boolean | undefined
  /** Confirms the commit and reads the list once, and keeps both within the shares of so many megabytes. */
  readonly remembers?: number | undefined
}

/** A server in a process of its own. */
export class ServerProcess {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  /**
   * The service, as `npm start` runs it.
   * @param checkout another one, which has been set up
   */
  static async service(
    place: Place,
    settings: Readonly<Record<string, string>> = {},
    checkout?: string,
  ): Promise<ServerProcess> {
    const child = spawn(checkout === undefined ? executable : join(checkout, 'scripts/commit-status'), ['serve'], {
      env: { ...process.env, ...variables(place), COMMIT_STATUS_LOG_LEVEL: 'warn', ...settings },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    const line = await firstLine(child)
    const url = /http:\/\/[\d.:]+/.exec(line)?.[0]
    if (url === undefined) throw new Error(`the service did not start: ${line}`)
    return new ServerProcess(url, child)
  }

  /** A bare node:http server that answers the same bytes. */
  static async limit(get: Recorded | undefined, post?: Recorded): Promise<ServerProcess> {
    return await ServerProcess.#program('limit.ts', [get ?? null, post ?? null])
  }

  /** One that does the same on files and LevelDB besides: see composite.ts. */
  static async composite(
    work: Place & Work & { readonly get: Recorded | undefined; readonly post: Recorded | undefined },
  ): Promise<ServerProcess> {
    return await ServerProcess.#program('composite.ts', work)
  }

  static async #program(name: string, work: unknown): Promise<ServerProcess> {
    const program = fileURLToPath(new URL(name, import.meta.url))
    const child = spawn(process.execPath, [...process.execArgv, program, JSON.stringify(work)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return new ServerProcess(await firstLine(child), child)
  }

  /**
   * Resident memory in bytes: its own, without the tables of the store that are mapped and belong to the page cache.
   */
  get memory(): number {
    return this.#resident('RssAnon')
  }

  /** Bytes of files that are mapped, programs and tables of the store, as far as they are in memory. */
  get mappedMemory(): number {
    return this.#resident('RssFile')
  }

  /** Milliseconds that the event loop stood still at most since this was asked last; with the setting `metrics`. */
  async stall(): Promise<number> {
    const { body } = await record(`${this.url}/metrics`)
    const [, seconds = 'NaN'] = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(body) ?? []
    return Number(seconds) * 1000
  }

  #resident(kind: string): number {
    const [, kilobytes = '0'] =
      new RegExp(`^${kind}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) * 1024
  }

  /** Seconds of processor time used so far. */
  get processorSeconds(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }
}

/** An answer as it was received. */
export interface Recorded {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

export async function record(url: string, options: RequestInit = {}): Promise<Recorded> {
  const response = await fetch(url, options)
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name)),
  )
  return { status: response.status, headers, body: await response.text() }
}

/** Runs a command of the executable; gives what it printed. */
export async function command(place: Place, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(executable, args, {
    env: { ...process.env, ...variables(place) },
    maxBuffer: 1 << 26,
  })
  return stdout.trimEnd()
}

/** Writes an export of the store to a file. */
export async function exportTo(place: Place, file: string): Promise<void> {
  const target = openSync(file, 'w')
  const child = spawn(executable, ['store', 'export'], {
    env: { ...process.env, ...variables(place) },
    stdio: ['ignore', target, 'inherit'],
  })
  closeSync(target)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`the export ended with ${code}`)
}

/**
 * A command that is to be under way for as long as `during` runs, begun again whenever it ends; then it is interrupted.
 * @param args of each time that it is begun
 * @param input a file that it reads from its standard input
 */
export async function whileCommand<T>(
  place: Place,
  { args, input }: { args: (time: number) => readonly string[]; input?: string | undefined },
  during: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const isOver = (): boolean => over.signal.aborted
  let child: ChildProcess | undefined
  const again = async (): Promise<void> => {
    for (let time = 0; !isOver(); time++) {
      const source = input === undefined ? 'ignore' : openSync(input, 'r')
      child = spawn(executable, args(time), {
        env: { ...process.env, ...variables(place) },
        stdio: [source, 'ignore', 'inherit'],
      })
      if (source !== 'ignore') closeSync(source)
      const [code] = (await once(child, 'exit')) as [number | null]
      if (code !== 0 && !isOver()) throw new Error(`${args(time).join(' ')} ended with ${code}`)
    }
  }
  const repeated = again()
  try {
    return await Promise.race([during(), repeated.then(async () => await during())])
  } finally {
    over.abort()
    child?.kill('SIGINT')
    await repeated
  }
}

function variables({ repositories, store }: Place): Record<string, string> {
  return {
    COMMIT_STATUS_REPOSITORIES: repositories,
    COMMIT_STATUS_STORE: store.startsWith('postgres:') ? store : `level:${store}`,
    COMMIT_STATUS_PORT: '0',
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await Promise.race([
    once(createInterface(child.stderr ?? child.stdout ?? process.stdin), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the server did not start'))),
  ])) as [string]
  return line
}
