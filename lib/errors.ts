interface CatalogueEntry {
  readonly status: number
  readonly text: string
  /** Seconds a client is asked to wait, where that is known beforehand. */
  readonly retryAfter?: number
}

/**
 * Every way the service refuses or fails: the HTTP status and the text a client sees.
 * Sources: "Errors" and the orders of checks in http/api/api.md, which has every status; lib/README.md has every code.
 */
export const catalogue = {
  malformed_path: { status: 400, text: 'malformed percent-encoding in the path' },
  malformed_request: { status: 400, text: 'malformed HTTP request' },
  invalid_body: { status: 400, text: 'invalid JSON body' },
  credentials_missing: { status: 401, text: 'authentication required' },
  credentials_wrong: { status: 401, text: 'invalid or expired token' },
  scope_missing: { status: 403, text: 'the token lacks the scope repo' },
  sudo_denied: { status: 403, text: 'nobody may act for another user' },
  request_forged: { status: 403, text: 'the form was not sent by a page of this service' },
  user_invalid: { status: 403, text: 'the user that the reverse proxy or the host names breaks the name rules' },
  write_denied: { status: 403, text: 'write access to the repository is required' },
  context_denied: { status: 403, text: 'the token may not report this context' },
  repository_not_found: { status: 404, text: 'repository not found' },
  commit_not_found: { status: 404, text: 'commit not found' },
  path_unknown: { status: 404, text: 'not found' },
  method_not_allowed: { status: 405, text: 'method not allowed' },
  request_timeout: { status: 408, text: 'the request took too long to arrive' },
  body_too_large: { status: 413, text: 'request body larger than 16384 bytes' },
  sha_invalid: { status: 422, text: 'sha must be a full 40 or 64 character hex commit id' },
  shas_invalid: { status: 422, text: 'sha must be given 1 to 100 times' },
  state_invalid: { status: 422, text: 'state must be one of pending, success, failure, error' },
  field_invalid: { status: 422, text: 'invalid field' },
  parameter_invalid: { status: 422, text: 'invalid parameter' },
  too_many_contexts: { status: 422, text: 'too many contexts on the commit' },
  too_many_failures: { status: 429, text: 'too many failed authentication attempts' },
  headers_too_large: { status: 431, text: 'request headers too large' },
  internal: { status: 500, text: 'internal error' },
  transfer_coding_unknown: { status: 501, text: 'transfer coding not supported: only chunked is' },
  overloaded: { status: 503, text: 'too many requests in progress', retryAfter: 1 },
  repository_unreadable: { status: 503, text: 'the repository cannot be read at the moment' },
  rights_unavailable: { status: 503, text: 'rights cannot be determined at the moment' },
  part_unresponsive: { status: 503, text: 'a part of the service does not answer at the moment' },
  store_unavailable: { status: 503, text: 'the store cannot be used at the moment' },
  shutting_down: { status: 503, text: 'shutting down' },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

// eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- these are its keys, and no others
export const ERROR_CODES = Object.keys(catalogue) as ErrorCode[]

/** Seconds a client is asked to wait when a 503 has no better figure. */
const RETRY_AFTER_SECONDS = 5

/**
 * A refusal or failure that a client may see. `message` is meant for clients; `cause` is for the log only.
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
    const {
      status,
      text,
      retryAfter = status === 503 ? RETRY_AFTER_SECONDS : undefined,
    }: CatalogueEntry = catalogue[code]
    super(options.text ?? text, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = status
    this.retryAfter = options.retryAfter ?? retryAfter
  }
}

/** Credentials that were refused: what the log says of the attempt, and a client never sees. */
export class FailedLogIn extends ServiceError {
  /** @param attempt who tried, and the id of the token where it is one of ours */
  constructor(
    readonly attempt: { readonly client: string; readonly token?: string },
    retryAfter: number,
  ) {
    super(retryAfter > 0 ? 'too_many_failures' : 'credentials_wrong', retryAfter > 0 ? { retryAfter } : {})
  }
}

/** A setting that was refused; the message names key, value and rule. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/**
 * The service cannot start as it is set up. The message tells an admin, in one line, what is wrong and what to change.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** There can be no backup, or not in this folder; the message says why. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused'
}

/** The store cannot be used at the moment; trying again later may help. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable'
}

/** A write failed, as the log says: nothing is accepted until the store is open again. */
export class StoreFenced extends StoreUnavailable {
  override readonly name = 'StoreFenced'
}

/** More waits for the disk than the store is ready to hold: a moment later it will be less. */
export class StoreOverloaded extends StoreUnavailable {
  override readonly name = 'StoreOverloaded'
}

/** Another process has the store open. */
export class StoreLocked extends StoreUnavailable {
  override readonly name = 'StoreLocked'

  /** @param folder of the store */
  constructor(folder: string, cause: Error) {
    super(`the store ${folder} is in use by another process`, { cause })
  }
}

/** Rights cannot be determined at the moment, as the log says; trying again later may help. */
export class RightsUnavailable extends Error {
  override readonly name = 'RightsUnavailable'
}

/** A commit has as many contexts as it may have, and the report would add one: nothing was saved. */
export class ContextLimitReached extends Error {
  override readonly name = 'ContextLimitReached'

  /** @param maxContexts how many it may have */
  constructor(maxContexts: number) {
    super(`too many contexts on the commit: limits.contexts is ${maxContexts}`)
  }
}

/** A stored value is not what was written. */
export class StoreCorrupt extends Error {
  override readonly name = 'StoreCorrupt'
}

/** What a client sees of an error: itself when it was made for that, else how it looks from outside. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof ContextLimitReached) return new ServiceError('too_many_contexts', { text: error.message })
  // Without a cause: that has been logged, once and not for each of thousands.
  if (error instanceof StoreOverloaded) return new ServiceError('overloaded')
  if (error instanceof StoreFenced) return new ServiceError('store_unavailable')
  if (error instanceof RightsUnavailable) return new ServiceError('rights_unavailable')
  return new ServiceError(error instanceof StoreUnavailable ? 'store_unavailable' : 'internal', { cause: error })
}

/** The same as `errorMessage`, with what the disk says of a write that failed, which is no client's business. */
export function failureMessage(thrown: unknown): string {
  const text = errorMessage(thrown)
  const cause = thrown instanceof StoreFenced && thrown.cause !== undefined ? errorMessage(thrown.cause) : ''
  // A database's failure says it already.
  return text.includes(cause) ? text : `${text}: ${cause}`
}

/** What a thrown value says, in one line: for a message that tells an admin why something failed. */
export function errorMessage(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return text.replaceAll(/\s+/g, ' ')
}

/** What an admin asked for cannot be done; the message says why, in words for the admin. */
export class AdministrationError extends Error {
  override readonly name: string = 'AdministrationError'
}

/** An argument of an admin breaks its rule: nothing was tried. */
export class ArgumentError extends AdministrationError {
  override readonly name = 'ArgumentError'
}

/** A user has as many tokens as a user may have, and one more was asked for: nothing was made. */
export class TokenLimitReached extends AdministrationError {
  override readonly name = 'TokenLimitReached'

  /** @param most how many a user may have */
  constructor(user: string, most: number) {
    super(`too many tokens: limits.tokens is ${most}, and ${user} has as many; revoke one first`)
  }
}

/** A part of the host answered what its contract does not allow. */
export class PartError extends Error {
  override readonly name = 'PartError'
}
