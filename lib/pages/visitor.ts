import type { IncomingMessage } from 'node:http'

/** Who looks at a page. */
export interface Visitor {
  /** Absent for whoever is not signed in. */
  readonly user?: string
  /** Whether a session of ours says so, which the visitor can end. */
  readonly hasSession: boolean
}

export const NOBODY: Visitor = { hasSession: false }

/**
 * Tells who looks at a page. The API knows nothing of it.
 * @throws ServiceError
 */
export type Visitors = (request: IncomingMessage) => Visitor | Promise<Visitor>
