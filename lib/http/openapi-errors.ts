import { catalogue, ERROR_CODES, ServiceError, type ErrorCode } from '../errors.js'

/** An operation of the API. */
type Operation = 'report' | 'list' | 'verdict' | 'states'

const all: readonly Operation[] = ['report', 'list', 'verdict', 'states']
const ofOneCommit: readonly Operation[] = ['report', 'list', 'verdict']

/** Which operations an error may end; a new one has to be put somewhere. */
const ENDS: Readonly<Record<ErrorCode, readonly Operation[]>> = {
  malformed_path: all,
  malformed_request: all,
  invalid_body: ['report'],
  credentials_missing: all,
  credentials_wrong: all,
  scope_missing: all,
  sudo_denied: [],
  request_forged: [],
  user_invalid: [],
  write_denied: ['report'],
  context_denied: ['report'],
  repository_not_found: all,
  commit_not_found: ofOneCommit,
  path_unknown: [],
  method_not_allowed: [],
  request_timeout: all,
  body_too_large: ['report'],
  sha_invalid: all,
  state_invalid: ['report'],
  field_invalid: ['report'],
  parameter_invalid: ['verdict', 'states'],
  shas_invalid: ['states'],
  too_many_contexts: ['report'],
  too_many_failures: all,
  headers_too_large: all,
  internal: all,
  transfer_coding_unknown: all,
  overloaded: all,
  repository_unreadable: all,
  part_unresponsive: all,
  store_unavailable: all,
  shutting_down: all,
}

const text = { type: 'string' }

/** The headers of every answer. */
export const headers = { 'X-Request-Id': { description: 'that of the request, or a new one', schema: text } }

/**
 * The refusals and failures of an operation, by their HTTP status.
 * @param content of their answers
 */
export function errorResponses(operation: Operation, content: object): Record<string, object> {
  const codes = ERROR_CODES.filter((code) => ENDS[code].includes(operation))
  const texts = new Map<number, string[]>()
  const retries = new Set<number>()
  for (const code of codes) {
    const { status, retryAfter } = new ServiceError(code)
    texts.set(status, [...(texts.get(status) ?? []), catalogue[code].text])
    if (retryAfter !== undefined || status === 429) retries.add(status)
  }
  return Object.fromEntries(
    [...texts].map(([status, reasons]) => [
      status,
      {
        description: reasons.join('; '),
        headers: {
          ...headers,
          ...(status === 401 && { 'WWW-Authenticate': { schema: text } }),
          ...(retries.has(status) && { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } }),
        },
        content,
      },
    ]),
  )
}
