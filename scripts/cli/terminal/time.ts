import { InvalidArgumentError } from 'commander'
import { milliseconds } from '../../../lib/domain/verdict/duration.js'

/**
 * Reads a time: ISO 8601, or how long before or after now, like `90d`. Gives ISO 8601.
 * @param example what else may be said, for whoever says something wrong
 */
export function timeOf(text: string, direction: 'ago' | 'from now', example = ''): string {
  const sign = direction === 'ago' ? -1 : 1
  const length = milliseconds(text)
  const time = length !== undefined ? Date.now() + sign * length : isDay(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) throw new InvalidArgumentError(`It must be like 30s, 12h, 90d or 2031-01-31${example}.`)
  if (direction === 'ago' && time > Date.now()) throw new InvalidArgumentError('It must not be in the future.')
  if (direction === 'from now' && time <= Date.now()) throw new InvalidArgumentError('It must be in the future.')
  return new Date(time).toISOString()
}

/** Whether a text begins with a day that the calendar has: `Date.parse` would take 30 February for 2 March. */
function isDay(text: string): boolean {
  const [day, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)(?=T|$)/.exec(text) ?? []
  if (day === undefined) return false
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(date))).toISOString().startsWith(day)
}
