import type { IncomingMessage } from 'node:http'
import type { Visitor } from './html/layout.js'

export const NOBODY: Visitor = { hasSession: false }

/**
 * Tells who looks at a page. The API knows nothing of it.
 * @throws ServiceError
 */
export type Visitors = (request: IncomingMessage) => Visitor | Promise<Visitor>
