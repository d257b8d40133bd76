import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** One request of a load. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** One line. */
  readonly body?: string
}

/** What came of a load. */
export interface LoadResult {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Requests without an answer, or with a status above 399. */
  readonly failed: number
  readonly requests: number
}

/** In which order requests are sent; where it is not `random`, each run goes on behind the one before. */
export type Order = 'random' | 'in turn' | 'once'

/** Requests to send, in a file. */
export class Load {
  readonly #file: string
  readonly #count: number
  readonly #headers: Readonly<Record<string, string>>
  readonly #order: Order
  /** How many have been sent to each server. */
  readonly #sent = new Map<string, number>()

  /** @param order `once`: a run that finds too few requests rejects */
  constructor(
    file: string,
    requests: readonly LoadRequest[],
    headers: Readonly<Record<string, string>> = {},
    order: Order = 'random',
  ) {
    this.#file = file
    this.#count = requests.length
    this.#headers = headers
    this.#order = order
    writeFileSync(file, requests.map(({ method, path, body = '' }) => `${method}\t${path}\t${body}\n`).join(''))
  }

  /** Sends them over keep-alive connections with wrk, which takes one core at the most. */
  async run(
    url: string,
    { seconds, connections = 64 }: { seconds: number; connections?: number },
  ): Promise<LoadResult> {
    const script = fileURLToPath(new URL('load.lua', import.meta.url))
    const before = this.#sent.get(url) ?? 0
    const from = this.#order === 'random' ? 'any' : String(before % this.#count)
    const headers = Object.entries(this.#headers).flat()
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url]
    const { stdout } = await promisify(execFile)('wrk', [...options, '--', this.#file, from, ...headers], {
      maxBuffer: 1 << 24,
    })
    const line = stdout.split('\n').find((text) => text.startsWith('{')) ?? '{}'
    const {
      requests = 0,
      microseconds = 1,
      p50 = 0,
      p99 = 0,
      p999 = 0,
      failed = 0,
      sent = 0,
    } = JSON.parse(line) as Partial<Record<string, number>>
    this.#sent.set(url, before + sent)
    if (this.#order === 'once' && before + sent > this.#count)
      throw new Error(`${this.#count} requests are too few: the machine is faster than the load was made for`)
    return {
      perSecond: (requests * 1_000_000) / microseconds,
      p50: p50 / 1000,
      p99: p99 / 1000,
      p999: p999 / 1000,
      failed,
      requests,
    }
  }
}
