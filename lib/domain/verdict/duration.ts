const SECOND = 1000
const UNITS: Readonly<Record<string, number>> = {
  s: SECOND,
  m: 60 * SECOND,
  h: 60 * 60 * SECOND,
  d: 24 * 60 * 60 * SECOND,
  w: 7 * 24 * 60 * 60 * SECOND,
}

/** A length of time as people write it. */
export const DURATION = /^(\d{1,6})([smhdw])$/

/** Milliseconds of a length of time as people write it: 30s, 15m, 12h, 90d or 2w; `undefined` when it is none. */
export function milliseconds(text: string): number | undefined {
  const [, number = '', unit = ''] = DURATION.exec(text) ?? []
  const length = UNITS[unit]
  return length === undefined ? undefined : Number(number) * length
}
