/**
 * What `Retry-After` says, in seconds or as a date (RFC 9110, 10.2.3).
 * @param now milliseconds since 1970 UTC
 * @returns milliseconds from now, less than 0 for what has been; `undefined` where it says neither
 */
export function retryAfterMilliseconds(value: string, now: number): number | undefined {
  const time = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(time) ? undefined : time
}
