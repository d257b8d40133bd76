interface CatalogueEntry {
  readonly status: number
  readonly text: string
  /** Seconds a client is asked to wait, where that is known beforehand. */
  readonly retryAfter?: number
}

/**
 * Every way the service refuses or fails: the HTTP status and the text a client sees.
 * Sources: "Errors" and the orders of checks of the specification; the README lists the same statuses.
 */
export const catalogue = {
  malformed_path: { status: 400, text: 'malformed percent-encoding in the path' },
  malformed_request: { status: 400, text: 'malformed HTTP request' },
  invalid_body: { status: 400, text: 'invalid JSON body' },
  credentials_missing: { status: 401, text: 'authentication required' },
  credentials_wrong: { status: 401, text: 'invalid or expired token' },
  scope_missing: { status: 403, text: 'the token lacks the scope repo' },
  write_denied: { status: 403, text: 'write access to the repository is required' },
  repository_not_found: { status: 404, text: 'repository not found' },
  commit_not_found: { status: 404, text: 'commit not found' },
  path_unknown: { status: 404, text: 'not found' },
  method_not_allowed: { status: 405, text: 'method not allowed' },
  request_timeout: { status: 408, text: 'the request took too long to arrive' },
  body_too_large: { status: 413, text: 'request body larger than 16384 bytes' },
  sha_invalid: { status: 422, text: 'sha must be a full 40 or 64 character hex commit id' },
  state_invalid: { status: 422, text: 'state must be one of pending, success, failure, error' },
  field_invalid: { status: 422, text: 'invalid field' },
  too_many_failures: { status: 429, text: 'too many failed authentication attempts' },
  headers_too_large: { status: 431, text: 'request headers too large' },
  internal: { status: 500, text: 'internal error' },
  overloaded: { status: 503, text: 'too many requests in progress', retryAfter: 1 },
  repository_unreadable: { status: 503, text: 'the repository cannot be read at the moment' },
  part_unresponsive: { status: 503, text: 'a part of the service does not answer at the moment' },
  store_unavailable: { status: 503, text: 'the store cannot be used at the moment' },
  shutting_down: { status: 503, text: 'shutting down' },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

/** Seconds a client is asked to wait when a 503 has no better figure. */
const RETRY_AFTER_SECONDS = 5

/**
 * A refusal or failure that a client may be told of. `message` is meant for clients; `cause` is for the log only.
 * Anything else that is thrown is a fault, and clients see `internal`.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly status: number
  /** Whole seconds, at least 1, after which trying again makes sense. Set for 429 and 503. */
  readonly retryAfter: number | undefined

  /** @param options.text replaces the text of the catalogue where a rule has more to say */
  constructor(code: ErrorCode, options: { text?: string; retryAfter?: number; cause?: unknown } = {}) {
    const { status, text, retryAfter = status === 503 ? RETRY_AFTER_SECONDS : undefined }: CatalogueEntry = catalogue[code]
    super(options.text ?? text, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = status
    this.retryAfter = options.retryAfter ?? retryAfter
  }
}
