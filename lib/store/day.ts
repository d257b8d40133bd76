const DAY = 24 * 60 * 60 * 1000

/**
 * The day of UTC that a time is in: when it began, and from when on a claim of a later day comes from a clock that was
 * wrong. Clocks of two machines may be a day apart at midnight.
 */
export function dayOf(now: number): { readonly start: number; readonly wrong: number } {
  const start = Math.floor(now / DAY) * DAY
  return { start, wrong: start + 2 * DAY }
}
