import type { State } from '../../domain/commit-status.js'
import { ServiceError } from '../../errors.js'
import { invalidBody, type ReportShape } from '../../domain/report.js'
import { decodeUtf8, parseJson } from '../body.js'

/** The members of a body, or of what takes its place. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * The members of a JSON body. What it is, not its Content-Type, decides: some clients send JSON as a form.
 * @throws ServiceError `invalid_body`
 */
export function jsonFields(bytes: Buffer): Fields {
  const body = parseJson(bytes)
  if (!isFields(body)) throw invalidBody('it must be an object')
  return body
}

/**
 * The members of a body that is JSON or a form, over those of the query.
 * @throws ServiceError `invalid_body`
 */
export function fieldsOf(bytes: Buffer, query: URLSearchParams): Fields {
  const text = decodeUtf8(bytes)
  const body = /^\s*[{[]/.test(text) ? jsonFields(bytes) : Object.fromEntries(new URLSearchParams(text))
  return { ...Object.fromEntries(query), ...body }
}

/**
 * A report in our words. A text that is empty or null is none, as many clients always send all members.
 * @param states what the states of the API are here
 * @throws ServiceError `state_invalid`, `field_invalid`, before any check that comes after that of the body
 */
export function reportShape(
  fields: Fields,
  states: ReadonlyMap<string, State>,
  { state = 'state', context = 'context' } = {},
): ReportShape {
  const given = textOf(fields, state, 'state_invalid')
  const known = given === undefined ? undefined : states.get(given)
  const [name, description, target] = [context, 'description', 'target_url'].map((field) => textOf(fields, field))
  return {
    // An unknown one is refused in its turn.
    state: known ?? '',
    ...(name !== undefined && { context: name }),
    description: description ?? null,
    target_url: target ?? null,
  }
}

function textOf(fields: Fields, name: string, code: 'state_invalid' | 'field_invalid' = 'field_invalid') {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new ServiceError(code, { text: `${name} must be a string` })
  return value
}

function isFields(body: unknown): body is Fields {
  return typeof body === 'object' && body !== null && !Array.isArray(body)
}
