import { ACCESS } from '../access.js'
import { audit, auditGrants, deleteAudited, renameAudited, type AuditedChanges, type UnixUser } from '../audit.js'
import type { Tokens } from '../auth/tokens.js'
import type { CommitStatus } from '../commit-status.js'
import type { Commits } from '../git/commits.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import type { Logger } from '../logger.js'
import { reasonOf } from '../reason.js'
import type { RepositoryName } from '../repository-name.js'
import { BackupRefused, type Grant, type Store, type StoreContents, type StoreCounts, type StoreFindings, type StoreMaintenance, type TokenRecord, type TokenUse } from '../store/store.js'
import { inPieces, until, type Work } from '../work.js'
import { AdministrationError } from './administration-error.js'
import { MOST_COMMITS, type Administration, type ListedGrant, type ListedRepositories, type ListedRepository, type ListedToken, type RepositoryCounts } from './administration.js'
import { checkCommit, checkRepository, checkUser, target } from './arguments.js'
import { latestCommits, type ReportedCommit } from './latest-commits.js'
import { exportStore } from './store-export.js'
import { importStore, nothingImported, type ImportCounts } from './store-import.js'
import { nothingPruned, pruneStore, type PruneCounts, type PruneFinding, type PruneRequest } from './store-prune.js'
import { storeStatistics, type StoreStatistics } from './store-statistics.js'

export interface AdministrationParts {
  readonly store: Store
  readonly tokens: Tokens
  /** How a repository is renamed and deleted: in a running service with the reports in mind that are under way. */
  readonly changes: Pick<Store, 'renameRepository' | 'deleteRepository'>
  /** Where the changes are written down. */
  readonly logger: Logger
  /** Absent where the host has its own. */
  readonly repositories?: RepositoryFolder
  readonly commits: Commits
  /** Ends long work, with its reason. */
  readonly stopping?: AbortSignal
}

/** Administration of the store and the repositories at hand. */
export class LocalAdministration implements Administration {
  readonly #store: Store
  readonly #tokens: Tokens
  readonly #audited: AuditedChanges
  readonly #logger: Logger
  readonly #repositories: RepositoryFolder | undefined
  readonly #commits: Commits
  readonly #stopping: AbortSignal

  constructor(parts: AdministrationParts) {
    this.#store = parts.store
    this.#tokens = parts.tokens
    this.#audited = { changes: parts.changes, grants: parts.store.grants, logger: parts.logger }
    this.#logger = parts.logger
    this.#repositories = parts.repositories
    this.#commits = parts.commits
    this.#stopping = parts.stopping ?? new AbortController().signal
  }

  async createToken(request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null }, by?: UnixUser): Promise<{ token: string } & ListedToken> {
    const expiresAt = request.expiresAt === null ? null : Date.parse(request.expiresAt)
    if (Number.isNaN(expiresAt)) throw new AdministrationError(`${String(request.expiresAt)} is no time`)
    const unknown = request.scopes.find((scope) => scope !== 'repo')
    if (unknown !== undefined) throw new AdministrationError(`there is no scope ${unknown}`)
    const { token, record } = await this.#tokens.create({ ...request, user: checkUser(request.user), expiresAt })
    const { id, user, name, scopes, expires_at } = record
    audit(this.#logger, by, { token: id, user, name, scopes, expires_at }, 'token created')
    return { token, ...listed({ ...record, last_used_at: null }) }
  }

  async listTokens(user: string | null): Promise<ListedToken[]> {
    return (await this.#store.tokens.list(user ?? undefined)).map(listed)
  }

  async revokeToken(id: string, by?: UnixUser): Promise<void> {
    // A damaged token can be revoked as well: then it is not told whose it was.
    const record = await this.#store.tokens.get(id).catch(() => undefined)
    if (!(await this.#store.tokens.remove(id))) throw new AdministrationError(`there is no token ${id}`)
    audit(this.#logger, by, { token: id, user: record?.user, name: record?.name }, 'token revoked')
  }

  async grantAccess(on: string, user: string, access: string, by?: UnixUser): Promise<void> {
    const level = ACCESS.find((candidate) => candidate === access)
    if (level === undefined || level === 'none') throw new AdministrationError(`access must be read or write, not ${access}`)
    await this.#store.grants.set({ ...target(on), user: checkUser(user), access: level })
    audit(this.#logger, by, { on, user, access }, 'access granted')
  }

  async revokeAccess(on: string, user: string, by?: UnixUser): Promise<void> {
    const removed = await this.#store.grants.remove({ ...target(on), user: checkUser(user) })
    if (!removed) throw new AdministrationError(`${user} has no grant on ${on}`)
    audit(this.#logger, by, { on, user }, 'access revoked')
  }

  async listAccess(on: string | null): Promise<ListedGrant[]> {
    const { owner, repository } = on === null ? {} : target(on)
    return (await this.#store.grants.list(owner, repository)).map(({ owner, repository, user, access }) => ({ on: repository?.full ?? owner, user, access }))
  }

  async listRepositories(): Promise<ListedRepositories> {
    const repositories: ListedRepository[] = []
    const problems: string[] = []
    const found = this.#folder().list((error) => void problems.push(reasonOf(error)))
    for await (const { name, public: isPublic } of found) repositories.push({ repository: name.full, visibility: isPublic ? 'public' : 'private' })
    return { repositories, problems }
  }

  async setVisibility(repository: string, visibility: 'public' | 'private', by?: UnixUser): Promise<void> {
    if (!(await this.#folder().setPublic(checkRepository(repository), visibility === 'public'))) throw new AdministrationError(`there is no repository ${repository}`)
    audit(this.#logger, by, { repository }, `repository made ${visibility}`)
  }

  async countRepository(repository: string): Promise<RepositoryCounts> {
    return await this.#counts(checkRepository(repository))
  }

  async renameRepository(from: string, to: string, by?: UnixUser): Promise<RepositoryCounts> {
    const [name, newName] = [checkRepository(from), checkRepository(to)]
    if (from === to) throw new AdministrationError(`${from} is its name already`)
    const counts = await this.#counts(name)
    await renameAudited(this.#audited, by, name, newName, counts)
    return counts
  }

  async deleteRepository(repository: string, by?: UnixUser): Promise<RepositoryCounts> {
    const name = checkRepository(repository)
    const counts = await this.#counts(name)
    await deleteAudited(this.#audited, by, name, counts)
    return counts
  }

  async *listStatuses(repository: string, sha: string | null): Work<null, CommitStatus> {
    const name = checkRepository(repository)
    if (sha === null) {
      for await (const items of inPieces(this.#store.statuses.scan(name))) {
        this.#stopping.throwIfAborted()
        yield { items }
      }
      return null
    }
    yield { items: await this.#store.statuses.list(name, checkCommit(sha)) }
    return null
  }

  async *latestCommits(repository: string, limit: number): Work<ReportedCommit[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_COMMITS) throw new AdministrationError(`the limit must be 1 to ${MOST_COMMITS}, not ${limit}`)
    const name = checkRepository(repository)
    const commits = yield* until(this.#stopping, latestCommits(this.#store.statuses.scan(name), limit))
    if (commits.length === 0) await this.#refuseUnknown(name)
    return commits
  }

  async deleteStatuses(repository: string, sha: string, context: string | null, by?: UnixUser): Promise<number> {
    const [name, commit] = [checkRepository(repository), checkCommit(sha)]
    const { statuses } = this.#store
    if (!statuses.remove) throw new AdministrationError('the git server that this service lives in has a store that removes no single statuses')
    const removed = await statuses.remove(name, commit, context ?? undefined)
    if (removed === 0) throw new AdministrationError(`${repository} has no status${context === null ? '' : ` ${JSON.stringify(context)}`} on ${commit.hex}`)
    audit(this.#logger, by, { repository, sha: commit.hex, context, statuses: removed }, 'statuses deleted')
    return removed
  }

  async *storeStatistics(top: number): Work<StoreStatistics> {
    return yield* until(this.#stopping, storeStatistics(this.#store, this.#contents(), top))
  }

  async *exportStore(repository: string | null): Work<null, string> {
    const name = repository === null ? undefined : checkRepository(repository)
    return yield* until(this.#stopping, exportStore(this.#store, this.#contents(), name))
  }

  async *importStore(lines: AsyncIterable<string>, by?: UnixUser): Work<ImportCounts> {
    const counts = nothingImported()
    const changed = (tokens: readonly TokenRecord[], grants: readonly Grant[]): void => {
      for (const { id, user, name, scopes, expires_at } of tokens) audit(this.#logger, by, { token: id, user, name, scopes, expires_at }, 'token imported')
      auditGrants(this.#logger, by, grants, 'access granted')
    }
    let isWhole = false
    try {
      yield* until(this.#stopping, importStore(this.#store, this.#contents(), lines, counts, changed))
      isWhole = true
      return counts
    } finally {
      if (isWhole || counts.statuses + counts.tokens + counts.grants > 0) audit(this.#logger, by, counts, isWhole ? 'store imported' : 'store imported in part')
    }
  }

  async *pruneStore(request: PruneRequest, by?: UnixUser): Work<PruneCounts, PruneFinding> {
    const parts = { contents: this.#contents(), repositories: this.#folder(), commits: this.#commits }
    const counts = nothingPruned()
    let isWhole = false
    try {
      yield* until(this.#stopping, pruneStore(parts, request, counts))
      isWhole = true
      return counts
    } finally {
      if (request.remove && (isWhole || counts.statuses > 0)) audit(this.#logger, by, { ...request, ...counts }, isWhole ? 'store pruned' : 'store pruned in part')
    }
  }

  async *verifyStore(): Work<StoreFindings> {
    return yield* until(this.#stopping, this.#maintenance().verify())
  }

  async *backUpStore(folder: string): Work<StoreCounts> {
    try {
      return yield* until(this.#stopping, this.#maintenance().backUp(folder))
    } catch (error) {
      throw error instanceof BackupRefused ? new AdministrationError(error.message) : error
    }
  }

  /** @throws AdministrationError when there is nothing */
  async #counts(name: RepositoryName): Promise<RepositoryCounts> {
    const { statuses, grants } = this.#store
    const counts = { statuses: await (statuses.count?.(name) ?? countOf(statuses.scan(name))), grants: (await grants.list(name.owner, name)).length }
    if (counts.statuses + counts.grants === 0) throw new AdministrationError(`nothing is stored of ${name.full}: no status, no grant on it`)
    return counts
  }

  /** Of a repository that is gone there may be statuses; where there are none either, the name is a mistake. */
  async #refuseUnknown(name: RepositoryName): Promise<void> {
    if (this.#repositories && !(await this.#repositories.find(name))) throw new AdministrationError(`there is no repository ${name.full}`)
  }

  #contents(): StoreContents {
    if (!this.#store.contents) throw new AdministrationError(OF_THE_HOST)
    return this.#store.contents
  }

  #maintenance(): StoreMaintenance {
    if (!this.#store.maintenance) throw new AdministrationError('this is no LevelDB store: it is checked and backed up with tools of its own')
    return this.#store.maintenance
  }

  #folder(): RepositoryFolder {
    if (!this.#repositories) throw new AdministrationError('the git server that this service lives in has its own way to find repositories')
    return this.#repositories
  }
}

const OF_THE_HOST = 'the git server that this service lives in has a store of its own'

function listed({ digest: _, ...token }: TokenRecord & TokenUse): ListedToken {
  return token
}

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let found = 0
  for await (const _ of items) found++
  return found
}
