import type { Load, LoadResult } from './load.js'
import type { ServerProcess } from './processes.js'
import { median, type Setting } from './setting.js'

/** A server under a load. */
export interface Loaded {
  readonly server: ServerProcess
  readonly load: Load
  readonly warmSeconds?: number | undefined
}

/** What one of them came to. */
export interface Measured extends LoadResult {
  /** Microseconds of processor time for a request. */
  readonly processor: number
}

/** A load of which every request was answered as it should be. */
export async function sound(
  load: Load,
  server: ServerProcess,
  { seconds }: Pick<Setting, 'seconds'>,
  connections = 64,
): Promise<Measured> {
  const before = server.processorSeconds
  const result = await load.run(server.url, { seconds, connections })
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`)
  return { ...result, processor: ((server.processorSeconds - before) * 1e6) / result.requests }
}

/**
 * Measures servers in turn, once all have been warmed up: whatever else the machine does hits all of them alike. Every
 * other round goes the other way round.
 */
export async function inTurn(setting: Setting, loaded: readonly Loaded[], connections = 64): Promise<Rounds> {
  for (const { load, server, warmSeconds: seconds = 2 } of loaded) await load.run(server.url, { seconds, connections })
  const rounds: Measured[][] = []
  for (let round = 1; round <= setting.rounds; round++) {
    const measured: Measured[] = []
    const indexes = loaded.map((_, index) => index)
    for (const index of round % 2 === 1 ? indexes : indexes.toReversed()) {
      const { load, server } = loaded[index] ?? {}
      if (load && server) measured[index] = await sound(load, server, setting, connections)
    }
    rounds.push(measured)
    const words = measured.map(({ processor }) => processor.toFixed(1))
    const speeds = measured.map(({ perSecond }) => Math.round(perSecond))
    setting.tell(`  round ${round}: ${words.join(' of ')} µs, ${speeds.join(' of ')} a second`)
  }
  return new Rounds(rounds)
}

/** What servers came to in some rounds, by their place in line. */
export class Rounds {
  readonly #rounds: readonly (readonly Measured[])[]

  constructor(rounds: readonly (readonly Measured[])[]) {
    this.#rounds = rounds
  }

  /** The median of what is made of each round. */
  median(of: (measured: readonly Measured[]) => number): number {
    return median(this.#rounds.map(of))
  }

  of(index: number, member: keyof Measured): number {
    return this.median((measured) => measured[index]?.[member] ?? NaN)
  }

  /** Processor time of one in terms of another's, which differs less from minute to minute than throughput. */
  ratio(one: number, other: number): number {
    return this.median((measured) => (measured[one]?.processor ?? NaN) / (measured[other]?.processor ?? NaN))
  }
}
