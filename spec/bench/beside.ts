import { inTurn, type Loaded } from './comparison.js'
import type { Load } from './load.js'
import type { Services } from './services.js'
import type { Row, Setting } from './setting.js'

/** A kind of requests that may take so many times what another takes. */
export interface Kind {
  readonly name: string
  readonly load: Load
  readonly most: number
}

/** Measures kinds of requests to one service beside those of `base`, and to the other checkout's, if there is one. */
export async function beside(
  setting: Setting,
  { ours, against }: Services,
  base: Load,
  kinds: readonly Kind[],
  warmSeconds?: number,
): Promise<(Row & { readonly ratio: number })[]> {
  const loads = [base, ...kinds.map(({ load }) => load)]
  const loaded = loads.map((load): Loaded => ({ server: ours, load, warmSeconds }))
  const others = against ? loads.map((load): Loaded => ({ server: against, load, warmSeconds })) : []
  const rounds = await inTurn(setting, [...loaded, ...others])
  return kinds.map(({ name, most }, kind) => {
    const ratio = rounds.ratio(kind + 1, 0)
    return {
      name,
      processor: {
        ours: rounds.of(kind + 1, 'processor'),
        against: against && rounds.of(loads.length + kind + 1, 'processor'),
        beside: rounds.of(0, 'processor'),
      },
      ours: rounds.of(kind + 1, 'perSecond'),
      ratio,
      p50: rounds.of(kind + 1, 'p50'),
      p99: rounds.of(kind + 1, 'p99'),
      p999: rounds.of(kind + 1, 'p999'),
      memory: ours.memory,
      goal: `≤ ${most} times`,
      reached: ratio <= most,
    }
  })
}
