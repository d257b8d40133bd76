import type { Load, LoadResult } from './load.js'
import type { ServerProcess } from './processes.js'
import { median, type Row, type Setting } from './setting.js'

/** A server under a load. */
export interface Loaded {
  readonly server: ServerProcess
  readonly load: Load
}

/** What one of them came to. */
interface Measured extends LoadResult {
  /** Microseconds of processor time for a request. */
  readonly processor: number
}

/** A load of which every request was answered as it should be. */
export async function sound(
  load: Load,
  server: ServerProcess,
  { seconds }: Setting,
  connections = 64,
): Promise<Measured> {
  const before = server.processorSeconds
  const result = await load.run(server.url, { seconds, connections })
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`)
  return { ...result, processor: ((server.processorSeconds - before) * 1e6) / result.requests }
}

/**
 * Measures the service and its limits in turn, once all have been warmed up: whatever else the machine does hits all of
 * them alike. Medians of the rounds; the ratio is of processor time, which differs less from minute to minute than
 * throughput.
 */
export async function compare(
  setting: Setting,
  { ours, bare, composite }: { ours: Loaded; bare: Loaded; composite: Loaded | undefined },
  { warmSeconds, connections = 64, to }: { warmSeconds: number; connections?: number; to: 'bare' | 'composite' },
): Promise<Omit<Row, 'name' | 'goal' | 'reached'> & { ratio: number }> {
  const limits = composite ? [bare, composite] : [bare]
  await ours.load.run(ours.server.url, { seconds: warmSeconds, connections })
  for (const { load, server } of limits) await load.run(server.url, { seconds: 1, connections })
  const rounds: Measured[][] = []
  for (let round = 1; round <= setting.rounds; round++) {
    const measured: Measured[] = []
    for (const { load, server } of [ours, ...limits]) measured.push(await sound(load, server, setting, connections))
    rounds.push(measured)
    const [words, speeds] = [
      measured.map(({ processor }) => processor.toFixed(1)),
      measured.map(({ perSecond }) => Math.round(perSecond)),
    ]
    setting.tell(`  round ${round}: ${words.join(' of ')} µs, ${speeds.join(' of ')} a second`)
  }
  const of = (index: number, member: keyof Measured): number | undefined =>
    index <= limits.length ? median(rounds.map((measured) => measured[index]?.[member] ?? NaN)) : undefined
  const against = to === 'bare' ? 1 : 2
  return {
    ours: of(0, 'perSecond') ?? NaN,
    limit: of(1, 'perSecond'),
    composite: of(2, 'perSecond'),
    processor: { ours: of(0, 'processor') ?? NaN, bare: of(1, 'processor'), composite: of(2, 'processor') },
    ratio: median(rounds.map((measured) => (measured[against]?.processor ?? NaN) / (measured[0]?.processor ?? NaN))),
    p50: of(0, 'p50'),
    p99: of(0, 'p99'),
    p999: of(0, 'p999'),
    memory: ours.server.memory,
  }
}
