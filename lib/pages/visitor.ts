import type { IncomingMessage } from 'node:http'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Visitor } from './html/layout.js'

export const NOBODY: Visitor = { hasSession: false }

/**
 * Tells who looks at a page. The API knows nothing of it.
 * @param repository that the page is about, if it is about one
 * @throws ServiceError
 */
export type Visitors = (request: IncomingMessage, repository: RepositoryName | undefined) => Visitor | Promise<Visitor>
