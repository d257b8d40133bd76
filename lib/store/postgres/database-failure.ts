import { errorMessage } from '../../errors.js'

/** What a failure of the database means for what was asked of it. */
export interface Classification {
  /** Trying again may help. */
  readonly retryable: boolean
  /** What was asked may have been done all the same. */
  readonly outcomeUnknown: boolean
  /** Every connection that was made before is as bad as this one. */
  readonly resetPool: boolean
}

const FATAL: Classification = { retryable: false, outcomeUnknown: false, resetPool: false }
const RETRYABLE: Classification = { ...FATAL, retryable: true }
const RESET_POOL: Classification = { ...RETRYABLE, resetPool: true }

/** Classifications by SQLSTATE. All but 57P02 and 08 come instead of a commit, so nothing has been done. */
const CLASSIFICATIONS: readonly (readonly [RegExp, Classification])[] = [
  // Two transactions that met: serialization failure, deadlock.
  [/^40(?:001|P01)$/, RETRYABLE],
  // Too many connections: others may end.
  [/^53300$/, RETRYABLE],
  // Stopping, starting, or a server that only reads: after a fail-over the old connections say so for ever.
  [/^(?:57P0[13]|25006)$/, RESET_POOL],
  // Crashed; a connection that broke.
  [/^(?:57P02|08...)$/, { ...RESET_POOL, outcomeUnknown: true }],
]

/** The answer of a server that takes no writes: it may be old. */
const READ_ONLY: Classification = { ...RESET_POOL, outcomeUnknown: true }

/** A statement that failed, or a connection that could not be made. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure'
  readonly classification: Classification
  /** SQLSTATE; absent where the connection itself failed. */
  readonly state: string | undefined

  private constructor(message: string, state: string | undefined, meaning: Classification) {
    super(message)
    this.state = state
    this.classification = meaning
  }

  /** Classifies what `pg` has thrown. @param sent whether a statement was on its way */
  static of(cause: unknown, sent: boolean): DatabaseFailure {
    if (cause instanceof DatabaseFailure) return cause
    const state = stateOf(cause)
    // The message alone: what `pg` adds to its errors leads to the connection, and so to its password.
    const message = [errorMessage(cause), codeOf(cause)].filter((part) => part !== undefined && part !== '').join(', ')
    if (state === undefined) return new DatabaseFailure(message, state, { ...RESET_POOL, outcomeUnknown: sent })
    const meaning = CLASSIFICATIONS.find(([pattern]) => pattern.test(state))?.[1] ?? FATAL
    return new DatabaseFailure(message, state, isOfAnother(cause, state) ? { ...meaning, resetPool: false } : meaning)
  }

  /** The server only reads. */
  static readOnly(): DatabaseFailure {
    return new DatabaseFailure('the server is read-only', undefined, READ_ONLY)
  }

  /** The server began with a statement so late that it did nothing; or its clock was set. */
  static tooLate(): DatabaseFailure {
    return new DatabaseFailure('the server took too long to begin', undefined, RESET_POOL)
  }

  /** A transaction has been committed, but not on every node. */
  static unfinished(warning: string): DatabaseFailure {
    return new DatabaseFailure(`not on every node: ${warning}`, undefined, { ...FATAL, outcomeUnknown: true })
  }

  /** A value that the database does not take: the fault is in what was sent. */
  get isOfData(): boolean {
    return this.state !== undefined && /^2[23]/.test(this.state)
  }
}

/** Whether a server that goes on itself says so of one behind it: else it would end the connection. */
function isOfAnother(error: unknown, state: string): boolean {
  return /^(?:08|57P)/.test(state) && error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}

/** Only what the server says has a severity; errors of the system have codes too. */
function stateOf(error: unknown): string | undefined {
  return error instanceof Error && 'severity' in error ? codeOf(error) : undefined
}

/** The code of an error: all there is where several addresses were tried in vain. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
