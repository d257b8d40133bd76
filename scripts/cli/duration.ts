import ms, { type StringValue } from 'ms'

/** Whether a text is a length of time as commands take it: 30s, 15m, 12h, 90d or 2w. */
function isDuration(text: string): text is StringValue {
  return /^\d{1,6}[smhdw]$/.test(text)
}

/** Milliseconds of a length of time; `undefined` when it is none. */
export function milliseconds(text: string): number | undefined {
  return isDuration(text) ? ms(text) : undefined
}
