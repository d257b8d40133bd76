/** How much is measured, and where. */
export interface Setting {
  /** Where data is made and kept. */
  readonly folder: string
  readonly rounds: number
  readonly seconds: number
  /** Of the large store. */
  readonly statuses: number
  /** Another checkout of the service, measured beside this one. */
  readonly against?: string | undefined
  readonly tell: (text: string) => void
}

/** What was measured of the service, and of what bounds it. */
export interface Figures {
  readonly ours: number
  /** The service of the other checkout. */
  readonly against?: number | undefined
  /** A bare `node:http` server that answers the same bytes. */
  readonly bare?: number | undefined
  /** That with the same raw operations on files and LevelDB. */
  readonly composite?: number | undefined
  /** Other requests to the same service, which `goal` names. */
  readonly beside?: number | undefined
}

/** One line of the table. */
export interface Row {
  readonly name: string
  /** Microseconds of processor time for a request, all threads of the process together. */
  readonly processor?: Figures | undefined
  /** Requests a second, or what `name` says. */
  readonly ours: number
  readonly limit?: number | undefined
  readonly composite?: number | undefined
  /** Of what `goal` is about. */
  readonly ratio?: number | undefined
  /** Milliseconds. */
  readonly p50?: number | undefined
  readonly p99?: number | undefined
  readonly p999?: number | undefined
  /** Milliseconds that the event loop stood still at most. */
  readonly stall?: number | undefined
  /** Bytes. */
  readonly memory?: number | undefined
  readonly goal: string
  readonly reached: boolean
}

export interface Case {
  readonly name: string
  run(setting: Setting): Promise<Row[]>
}

/** What a case starts, and ends when it is over. */
export interface Ending {
  /** Those that were begun last are ended first. */
  readonly teardown: (end: () => unknown) => unknown
}

/** Ends whatever a measurement has begun, however that went. */
export async function ended<T>(measure: (ending: Ending) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = []
  try {
    return await measure({ teardown: (end) => ends.push(end) })
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN
}
