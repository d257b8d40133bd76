import type { Logger } from './logger.js'

/** A Unix user, as the command says; nobody checks it, since only the service's own user, and root, reach the service. */
export interface UnixUser {
  readonly user: string
  readonly uid: number
}

/**
 * Writes down a change of tokens, rights, repositories or statuses that was made on behalf of an admin: one line.
 * @param by `host`: the program that the service lives in
 * @param facts what was changed, and for whom; never a token or its digest
 */
export function audit(logger: Logger, by: UnixUser | 'host' | undefined, facts: object, change: string): void {
  logger.info({ by: by ?? 'unknown', ...facts }, `audit: ${change}`)
}
