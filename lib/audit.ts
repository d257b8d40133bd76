import type { Logger } from './logger.js'
import type { RepositoryName } from './repository-name.js'
import type { Grant, GrantStore, Store } from './store/store.js'

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

/** The same of grants that were changed with something larger: one line for each. */
export function auditGrants(logger: Logger, by: UnixUser | 'host' | undefined, grants: readonly Grant[], change: string, more: object = {}): void {
  for (const { owner, repository, user, access } of grants) audit(logger, by, { on: repository?.full ?? owner, user, access, ...more }, change)
}

/** What a repository is renamed and deleted by, and where that is written down. */
export interface AuditedChanges {
  readonly changes: Pick<Store, 'renameRepository' | 'deleteRepository'>
  readonly grants: GrantStore
  readonly logger: Logger
}

/** Renames a repository, and writes it down with every grant that moves or goes. Rejects as the renaming does. */
export async function renameAudited(parts: AuditedChanges, by: UnixUser | 'host' | undefined, from: RepositoryName, to: RepositoryName, facts: object = {}): Promise<void> {
  if (from.full === to.full) return
  const { changes, logger } = parts
  const [moved, gone] = await Promise.all([grantsOn(parts, from), grantsOn(parts, to)])
  await changes.renameRepository(from, to)
  audit(logger, by, { from: from.full, to: to.full, ...facts }, 'repository renamed')
  auditGrants(logger, by, gone, 'access revoked')
  auditGrants(logger, by, moved, 'access moved', { to: to.full })
}

/** Deletes what is stored of a repository, and writes it down with every grant that goes. Rejects as the deleting does. */
export async function deleteAudited(parts: AuditedChanges, by: UnixUser | 'host' | undefined, name: RepositoryName, facts: object = {}): Promise<void> {
  const { changes, logger } = parts
  const gone = await grantsOn(parts, name)
  await changes.deleteRepository(name)
  audit(logger, by, { repository: name.full, ...facts }, 'repository deleted')
  auditGrants(logger, by, gone, 'access revoked')
}

/** What cannot be told must not keep anybody from getting rid of it. */
async function grantsOn({ grants, logger }: AuditedChanges, name: RepositoryName): Promise<readonly Grant[]> {
  try {
    return await grants.list(name.owner, name)
  } catch (error) {
    logger.error({ err: error, repository: name.full }, 'its grants cannot be read, and are not in the audit lines that follow')
    return []
  }
}
