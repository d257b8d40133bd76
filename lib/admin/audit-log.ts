import type { HookRecord, HookStore } from '../contracts/hooks.js'
import type { Logger } from '../contracts/logger.js'
import type { Grant } from '../contracts/records.js'
import type { GrantStore, Store } from '../contracts/store.js'
import type { RepositoryName } from '../domain/repository-name.js'

/**
 * Who asked for a change, for the audit log. A command says as which Unix user it runs; nobody checks it, since only
 * the service's own user, and root, can open the socket. A host names whom it likes.
 */
export interface Actor {
  readonly user: string
  /** The number of a Unix user. */
  readonly uid?: number
}

/** `host`: the program that the service lives in, on its own account; `retention`: the setting of that name. */
export type By = Actor | 'host' | 'retention' | undefined

/**
 * Logs a change of tokens, rights, repositories or statuses: one line.
 * @param facts what was changed, and for whom; never a token or its digest
 */
export function audit(logger: Logger, by: By, facts: object, change: string): void {
  logger.info({ by: by ?? 'unknown', ...facts }, `audit: ${change}`)
}

/** Logs grants that were changed with something larger: one line for each. */
export function auditGrants(logger: Logger, by: By, grants: readonly Grant[], change: string, more: object = {}): void {
  for (const { owner, repository, user, access } of grants) {
    audit(logger, by, { on: repository?.full ?? owner, user, access, ...more }, change)
  }
}

/** What is said of a hook: of its address no more than lists do. */
export function hookFacts({ id, on, url, format, events, contexts, states, branches }: HookRecord): object {
  return { hook: id, on, receiver: receiverOf(url), format, events, contexts, states, branches }
}

/** Of an address what is no secret: of a mail all, else the host. */
export function receiverOf(address: string): string {
  const { protocol, host } = new URL(address)
  return host === '' ? address : `${protocol}//${host}/…`
}

export interface AuditedRepositoriesDependencies {
  /** How a repository is renamed and deleted: in a running service with the reports in mind that are under way. */
  readonly changes: Pick<Store, 'renameRepository' | 'deleteRepository'>
  readonly grants: GrantStore
  /** Absent where the store keeps none. */
  readonly hooks?: Pick<HookStore, 'list'> | undefined
  readonly logger: Logger
  /** Runs a change whole, its audit lines included. A service that is closing refuses it, else closing waits for it. */
  readonly run: <T>(change: () => Promise<T>) => Promise<T>
}

/** Renames and deletes what is stored of repositories, and logs it with every grant and hook that moves or goes. */
export class AuditedRepositories {
  readonly #dependencies: AuditedRepositoriesDependencies

  constructor(dependencies: AuditedRepositoriesDependencies) {
    this.#dependencies = dependencies
  }

  /** Rejects as the renaming does; does nothing when it is the same name. */
  async rename(by: By, from: RepositoryName, to: RepositoryName, facts: object = {}): Promise<void> {
    if (from.full === to.full) return
    const { changes, logger, run } = this.#dependencies
    await run(async () => {
      const [moved, gone] = await Promise.all([this.#grantsOn(from), this.#grantsOn(to)])
      const hooks = await this.#hooksOn(from, to)
      await changes.renameRepository(from, to)
      audit(logger, by, { from: from.full, to: to.full, ...facts }, 'repository renamed')
      auditGrants(logger, by, gone, 'access revoked')
      auditGrants(logger, by, moved, 'access moved', { to: to.full })
      for (const hook of hooks)
        if (hook.on === from.full) audit(logger, by, { ...hookFacts(hook), to: to.full }, 'hook moved')
        else audit(logger, by, hookFacts(hook), 'hook deleted')
    })
  }

  /** Rejects as the deleting does. */
  async delete(by: By, name: RepositoryName, facts: object = {}): Promise<void> {
    const { changes, logger, run } = this.#dependencies
    await run(async () => {
      const [gone, hooks] = [await this.#grantsOn(name), await this.#hooksOn(name)]
      await changes.deleteRepository(name)
      audit(logger, by, { repository: name.full, ...facts }, 'repository deleted')
      auditGrants(logger, by, gone, 'access revoked')
      for (const hook of hooks) audit(logger, by, hookFacts(hook), 'hook deleted')
    })
  }

  /** Grants that cannot be read must not prevent a delete. */
  async #grantsOn(name: RepositoryName): Promise<readonly Grant[]> {
    const { grants, logger } = this.#dependencies
    try {
      return await grants.list(name.owner, name)
    } catch (error) {
      const message = 'its grants cannot be read, and are not in the audit lines that follow'
      logger.error({ err: error, repository: name.full }, message)
      return []
    }
  }

  /** Nor must hooks. */
  async #hooksOn(...names: readonly RepositoryName[]): Promise<readonly HookRecord[]> {
    const { hooks, logger } = this.#dependencies
    try {
      return (await hooks?.list())?.filter(({ on }) => names.some(({ full }) => full === on)) ?? []
    } catch (error) {
      const repository = names.map(({ full }) => full).join(', ')
      logger.error({ err: error, repository }, 'its hooks cannot be read, and are not in the audit lines that follow')
      return []
    }
  }
}
