import { html, type Html } from './html.js'

/** A point in time, the same for every reader: a page that has not changed is answered with 304. */
export function timeText(iso: string): Html | string {
  const time = new Date(iso)
  // A commit may claim any time, and one that is none.
  if (Number.isNaN(time.getTime())) return ''
  const text = time.toISOString()
  return html`<time>${text.slice(0, 10)} ${text.slice(11, 16)}</time> UTC`
}

/** The day of a point in time that is known to the hour alone. */
export function dayText(iso: string): Html {
  return html`<time>${iso.slice(0, 10)}</time>`
}

/** A length of time in its two largest units. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
