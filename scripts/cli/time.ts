import { InvalidArgumentError } from 'commander'
import { milliseconds } from './duration.js'

/**
 * Reads a time: ISO 8601, or how long before or after now, like `90d`. Gives ISO 8601.
 * @param example what else may be said, for whoever says something wrong
 */
export function timeOf(text: string, direction: 'ago' | 'from now', example = ''): string {
  const sign = direction === 'ago' ? -1 : 1
  const length = milliseconds(text)
  const time = length !== undefined ? Date.now() + sign * length : /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) throw new InvalidArgumentError(`It must be like 30s, 12h, 90d or 2031-01-31${example}.`)
  if (sign * (time - Date.now()) < 0) throw new InvalidArgumentError(`It must not be in the ${direction === 'ago' ? 'future' : 'past'}.`)
  return new Date(time).toISOString()
}
