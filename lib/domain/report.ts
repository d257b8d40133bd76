import { isState, STATES, type Report, type State } from './commit-status.js'
import { ServiceError } from '../errors.js'
import { Schema, type SchemaError } from './schema.js'

/** The body of a report with every member of its right type; no value has been judged yet. */
export interface ReportShape {
  readonly state: string
  readonly context?: string
  readonly description?: string | null
  readonly target_url?: string | null
}

/** JSON schema of the body of a report: the types of its members. */
export const reportSchema = {
  type: 'object',
  required: ['state'],
  properties: {
    state: { type: 'string' },
    context: { type: 'string' },
    description: { type: ['string', 'null'] },
    target_url: { type: ['string', 'null'] },
  },
} as const

const shape = new Schema<ReportShape>(reportSchema, { ownProperties: true })

/**
 * Check 6 of a report: a JSON object with a string `state` and correctly typed optional fields.
 * Unknown members are ignored.
 * @throws ServiceError `invalid_body`
 */
export function parseShape(body: unknown): ReportShape {
  // Own members only, as they were checked: whoever reads a member later would find those of a prototype, too.
  if (shape.is(body)) return { ...body }
  throw invalidBody(shape.errors.map(describeShapeError).join(', '))
}

function describeShapeError({ instancePath, message = '' }: SchemaError): string {
  const member = instancePath.slice(1)
  return `${member === '' ? 'it' : member} ${message}`
}

/** The refusal of a body that is no report; its message begins `invalid JSON body`. */
export function invalidBody(reason = 'it is not valid', cause?: unknown): ServiceError {
  return new ServiceError('invalid_body', { text: `invalid JSON body: ${reason}`, cause })
}

/**
 * Check 7 of a report.
 * @throws ServiceError `state_invalid`
 */
export function parseState(state: string): State {
  if (!isState(state)) throw new ServiceError('state_invalid', { text: `state must be one of ${STATES.join(', ')}` })
  return state
}

/** Limits of the fields ("Limits" of the specification). */
export const CONTEXT_CHARACTERS = 255
export const DESCRIPTION_CHARACTERS = 1024
export const TARGET_URL_BYTES = 2048

/** The context of a report that names none. */
export const DEFAULT_CONTEXT = 'default'

/**
 * Check 9 of a report: the field rules of `context`, `description` and `target_url`, in this order.
 * @throws ServiceError `field_invalid`, its message begins with the name of the field
 */
export function parseFields(
  state: State,
  { context = DEFAULT_CONTEXT, description = null, target_url = null }: ReportShape,
): Report {
  checkText('context', context, 1, CONTEXT_CHARACTERS)
  if (description !== null) checkText('description', description, 0, DESCRIPTION_CHARACTERS)
  if (target_url !== null) checkTargetUrl(target_url)
  return { state, context, description, target_url }
}

function checkText(field: string, text: string, min: number, max: number): void {
  if (!text.isWellFormed()) throw invalidField(`${field} must be well-formed Unicode`)
  if (text.includes('\0')) throw invalidField(`${field} must not contain U+0000`)
  const characters = Array.from(text).length
  if (characters < min || characters > max) {
    throw invalidField(`${field} must have ${min === 0 ? 'at most' : `${min} to`} ${max} characters`)
  }
}

/**
 * The scheme and a host that no reader can take for another one: what `new URL` repairs (`http:host`, `http:///host`,
 * a backslash for a slash) other programs read differently, so it is no absolute URL here.
 */
const ABSOLUTE_HTTP_URL = /^https?:\/\/[^/?#\\]+(?:[/?#]|$)/i

function checkTargetUrl(url: string): void {
  if (!url.isWellFormed()) throw invalidField('target_url must be well-formed Unicode')
  if (Buffer.byteLength(url) > TARGET_URL_BYTES)
    throw invalidField(`target_url must have at most ${TARGET_URL_BYTES} bytes`)
  // The controls of writing direction are none of an address (RFC 3987, 4.1), and show another one than it is.
  if (/[\s\p{Cc}\p{Z}\p{Bidi_Control}]/u.test(url))
    throw invalidField('target_url must not contain white space or control characters')
  if (!ABSOLUTE_HTTP_URL.test(url) || !URL.canParse(url))
    throw invalidField('target_url must be an absolute http or https URL')
}

function invalidField(text: string): ServiceError {
  return new ServiceError('field_invalid', { text })
}
