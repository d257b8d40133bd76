import type { Sessions } from '../auth/sessions.js'
import type { Tokens } from '../auth/tokens.js'
import type { StoredStatus } from '../domain/commit-status.js'
import { AdministrationError, ArgumentError, BackupRefused, errorMessage } from '../errors.js'
import type { Commits } from '../git/commits.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import type { ObjectId } from '../domain/object-id.js'
import { ACCESS } from '../contracts/access-policy.js'
import type { Clock } from '../contracts/clock.js'
import { outcomeOf } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { Grant, TokenRecord, TokenUse } from '../contracts/records.js'
import type { StoreContents, StoreCounts, StoreFindings, StoreMaintenance } from '../contracts/store-administration.js'
import type { WholeStore } from '../contracts/store.js'
import { limitsOf, type TokenLimits } from '../contracts/token-limits.js'
import { batches, cancel, withSignal, type Task } from '../concurrency/task.js'
import type { RepositoryName } from '../domain/repository-name.js'
import {
  MAX_COMMITS,
  type Administration,
  type ListedGrant,
  type ListedRepositories,
  type ListedRepository,
  type ListedToken,
  type RepositoryCounts,
} from './administration.js'
import {
  checkCommit,
  checkExpiry,
  checkFormerUser,
  checkLimits,
  checkRepository,
  checkTokenId,
  checkTokenName,
  checkUser,
  grantTarget,
} from './arguments.js'
import { audit, auditGrants, type Actor, type AuditedRepositories, type By } from './audit-log.js'
import { latestCommits, type ReportedItem } from './reported-commits.js'
import { exportStore } from './store-export.js'
import { importStore, nothingImported, type ImportCounts } from './store-import.js'
import { nothingPruned, pruneStore, type PruneCounts, type PruneFinding, type PruneRequest } from './store-prune.js'
import { storeStatistics, type StoreStatistics } from './store-statistics.js'

export interface AdministrationParts {
  readonly store: WholeStore
  /** Absent where the host has tokens of its own. */
  readonly tokens?: Tokens
  /** Absent where nobody signs in by a link of ours: no service is running, or others know who looks at its pages. */
  readonly signIns?: { readonly sessions: Sessions; readonly address: () => string }
  /** Whether rights come from the grants of the store; else the host has its own. */
  readonly hasGrants: boolean
  readonly audited: AuditedRepositories
  readonly logger: Logger
  readonly clock: Clock
  /** Absent where the host has its own. */
  readonly repositories?: RepositoryFolder
  readonly commits: Commits
  /** Who asks for a change, where the call does not say. */
  readonly by?: By
  /** Told when statuses have come or gone otherwise than by a report. */
  readonly changed?: () => void
  /** Ends long tasks, with its reason. */
  readonly stopping?: AbortSignal
  /** Awaited between the steps of a long task; in a process that serves others, it leaves them their share. */
  readonly pace?: () => Promise<void>
}

/** Administration of the store and the repositories at hand. */
export class LocalAdministration implements Administration {
  readonly #parts: AdministrationParts
  readonly #store: WholeStore
  readonly #stopping: AbortSignal

  constructor(parts: AdministrationParts) {
    this.#parts = parts
    this.#store = parts.store
    this.#stopping = parts.stopping ?? new AbortController().signal
  }

  async createToken(
    request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null } & TokenLimits,
    by?: Actor,
  ): Promise<{ token: string } & ListedToken> {
    const expiresAt = checkExpiry(request.expiresAt, this.#parts.clock.now())
    const unknown = request.scopes.find((scope) => scope !== 'repo')
    if (unknown !== undefined) throw new ArgumentError(`there is no scope ${unknown}`)
    checkLimits(request)
    const name = checkTokenName(request.name)
    const { token, record, removed } = await this.#tokens().create({
      ...request,
      name,
      user: checkUser(request.user),
      expiresAt,
    })
    for (const { id, name: was } of removed)
      this.#audit(by, { token: id, user: record.user, name: was }, 'expired token removed')
    this.#audit(by, audited(record), 'token created')
    return { token, ...listed({ ...record, last_used_at: null }) }
  }

  async listTokens(user: string | null): Promise<ListedToken[]> {
    return (await this.#store.tokens.list(user ?? undefined)).map(listed)
  }

  async revokeToken(id: string, by?: Actor): Promise<void> {
    // A damaged token can be revoked as well: then the result does not name its user.
    checkTokenId(id)
    const found = await outcomeOf(() => this.#store.tokens.get(id))
    const record = 'value' in found ? found.value : undefined
    if (!(await this.#store.tokens.remove(id))) throw new AdministrationError(`there is no token ${id}`)
    this.#audit(by, { token: id, user: record?.user, name: record?.name }, 'token revoked')
  }

  async createSignIn(user: string, by?: Actor): Promise<{ url: string; expires_at: string }> {
    const { sessions, address } = this.#signIns()
    const { code, expiresAt } = sessions.createLink(checkUser(user))
    const expires_at = new Date(expiresAt).toISOString()
    this.#audit(by, { user, expires_at }, 'sign-in link created')
    return await Promise.resolve({ url: `${address()}/sign-in?code=${code}`, expires_at })
  }

  async endSignIns(user: string, by?: Actor): Promise<number> {
    const ended = this.#signIns().sessions.endAll(checkFormerUser(user))
    this.#audit(by, { user, ended }, 'sessions ended')
    return await Promise.resolve(ended)
  }

  async grantAccess(on: string, user: string, access: string, by?: Actor): Promise<void> {
    if (!this.#parts.hasGrants) throw new AdministrationError(`${OF_THE_HOST} rights of its own`)
    const level = ACCESS.find((candidate) => candidate === access)
    if (level === undefined || level === 'none') throw new ArgumentError(`access must be read or write, not ${access}`)
    await this.#store.grants.set({ ...grantTarget(on), user: checkUser(user), access: level })
    this.#audit(by, { on, user, access }, 'access granted')
  }

  async revokeAccess(on: string, user: string, by?: Actor): Promise<void> {
    const removed = await this.#store.grants.remove({ ...grantTarget(on), user: checkFormerUser(user) })
    if (!removed) throw new AdministrationError(`${user} has no grant on ${on}`)
    this.#audit(by, { on, user }, 'access revoked')
  }

  async listAccess(on: string | null): Promise<ListedGrant[]> {
    const { owner, repository } = on === null ? {} : grantTarget(on)
    return (await this.#store.grants.list(owner, repository)).map(({ owner, repository, user, access }) => ({
      on: repository?.full ?? owner,
      user,
      access,
    }))
  }

  async listRepositories(): Promise<ListedRepositories> {
    const repositories: ListedRepository[] = []
    const problems: string[] = []
    const found = this.#folder().list((error) => void problems.push(errorMessage(error)))
    for await (const { name, public: isPublic } of found)
      repositories.push({ repository: name.full, visibility: isPublic ? 'public' : 'private' })
    return { repositories, problems }
  }

  async setVisibility(repository: string, visibility: 'public' | 'private', by?: Actor): Promise<void> {
    if (!(await this.#folder().setPublic(checkRepository(repository), visibility === 'public')))
      throw new AdministrationError(`there is no repository ${repository}`)
    this.#audit(by, { repository }, `repository made ${visibility}`)
  }

  async countRepository(repository: string): Promise<RepositoryCounts> {
    return await this.#counts(checkRepository(repository))
  }

  async renameRepository(from: string, to: string, by?: Actor): Promise<RepositoryCounts> {
    const [name, newName] = [checkRepository(from), checkRepository(to)]
    if (from === to) throw new AdministrationError(`${from} is its name already`)
    const counts = await this.#counts(name)
    await this.#parts.audited.rename(this.#by(by), name, newName, counts)
    return counts
  }

  async deleteRepository(repository: string, by?: Actor): Promise<RepositoryCounts> {
    const name = checkRepository(repository)
    const counts = await this.#counts(name)
    await this.#parts.audited.delete(this.#by(by), name, counts)
    return counts
  }

  async *listStatuses(repository: string, sha: string | null): Task<null, StoredStatus> {
    const [name, commit] = [checkRepository(repository), sha === null ? undefined : checkCommit(sha)]
    yield* this.#steered(this.#statusesOf(name, commit))
    return null
  }

  async *listCommits(repository: string, sha: string | null, limit: number): Task<null, ReportedItem> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_COMMITS) {
      throw new ArgumentError(`the limit must be 1 to ${MAX_COMMITS}, not ${limit}`)
    }
    const [name, commit] = [checkRepository(repository), sha === null ? undefined : checkCommit(sha)]
    const commits = yield* this.#steered(latestCommits(this.#store.statuses.scan(name, commit), limit))
    if (commits.length === 0 && !commit) await this.#refuseUnknown(name)
    for (const found of commits) {
      yield { items: [{ commit: found }] }
      for await (const { items = [] } of this.#steered(this.#statusesOf(name, checkCommit(found.sha)))) {
        yield { items: items.map((status) => ({ status })) }
      }
    }
    return null
  }

  async deleteStatuses(repository: string, sha: string, context: string | null, by?: Actor): Promise<number> {
    const [name, commit] = [checkRepository(repository), checkCommit(sha)]
    const removed = await this.#store.statuses.remove(name, commit, context ?? undefined)
    this.#parts.changed?.()
    if (removed === 0)
      throw new AdministrationError(
        `${repository} has no status${context === null ? '' : ` ${JSON.stringify(context)}`} on ${commit.hex}`,
      )
    this.#audit(by, { repository, sha: commit.hex, context, statuses: removed }, 'statuses deleted')
    return removed
  }

  async *storeStatistics(top: number): Task<StoreStatistics> {
    return yield* this.#steered(storeStatistics(this.#store, this.#contents(), top))
  }

  async *exportStore(repository: string | null): Task<null, string> {
    const name = repository === null ? undefined : checkRepository(repository)
    return yield* this.#steered(exportStore(this.#store, this.#contents(), name))
  }

  async *importStore(lines: AsyncIterable<string>, by?: Actor): Task<ImportCounts> {
    const counts = nothingImported()
    const changed = (tokens: readonly TokenRecord[], grants: readonly Grant[]): void => {
      for (const token of tokens) this.#audit(by, audited(token), 'token imported')
      auditGrants(this.#parts.logger, this.#by(by), grants, 'access granted')
    }
    let isWhole = false
    try {
      yield* this.#steered(importStore(this.#store, this.#contents(), lines, counts, changed, this.#parts.clock))
      isWhole = true
      return counts
    } finally {
      this.#parts.changed?.()
      if (isWhole || counts.statuses + counts.tokens + counts.grants > 0)
        this.#audit(by, counts, isWhole ? 'store imported' : 'store imported in part')
    }
  }

  async *pruneStore(request: PruneRequest, by?: Actor): Task<PruneCounts, PruneFinding> {
    const parts = { contents: this.#contents(), repositories: this.#folder(), commits: this.#parts.commits }
    const counts = nothingPruned()
    let isWhole = false
    try {
      yield* this.#steered(pruneStore(parts, request, counts))
      isWhole = true
      return counts
    } finally {
      this.#parts.changed?.()
      if (request.remove && (isWhole || counts.statuses > 0))
        this.#audit(by, { ...request, ...counts }, isWhole ? 'store pruned' : 'store pruned in part')
    }
  }

  async *verifyStore(): Task<StoreFindings> {
    return yield* this.#steered(this.#maintenance().verify())
  }

  async *backUpStore(folder: string): Task<StoreCounts> {
    try {
      return yield* this.#steered(this.#maintenance().backUp(folder))
    } catch (error) {
      throw error instanceof BackupRefused ? new AdministrationError(error.message) : error
    }
  }

  /** @throws AdministrationError when there is nothing */
  async #counts(name: RepositoryName): Promise<RepositoryCounts> {
    const { statuses, grants } = this.#store
    const counts = {
      statuses: await statuses.count(name),
      grants: (await grants.list(name.owner, name)).length,
    }
    if (counts.statuses + counts.grants === 0)
      throw new AdministrationError(`nothing is stored of ${name.full}: no status, no grant on it`)
    return counts
  }

  /** Of a repository that is gone there may be statuses; where there are none either, the name is a mistake. */
  async #refuseUnknown(name: RepositoryName): Promise<void> {
    if (this.#parts.repositories && !(await this.#parts.repositories.find(name)))
      throw new AdministrationError(`there is no repository ${name.full}`)
  }

  #by(by: Actor | undefined): By {
    return by ?? this.#parts.by
  }

  #audit(by: Actor | undefined, facts: object, change: string): void {
    audit(this.#parts.logger, this.#by(by), facts, change)
  }

  async *#statusesOf(name: RepositoryName, commit: ObjectId | undefined): Task<null, StoredStatus> {
    for await (const items of batches(this.#store.statuses.scan(name, commit))) {
      // A store of the host may pass over the commit.
      yield { items: commit ? items.filter(({ sha }) => sha === commit.hex) : items }
    }
    return null
  }

  /** A long task that ends when everything stops, and leaves others their share. */
  async *#steered<Result, Item>(task: Task<Result, Item>): Task<Result, Item> {
    const steps = withSignal(this.#stopping, task)
    try {
      for (;;) {
        const next = await steps.next()
        if (next.done) return next.value
        yield next.value
        await this.#parts.pace?.()
      }
    } finally {
      await cancel(steps)
    }
  }

  #tokens(): Tokens {
    if (!this.#parts.tokens) throw new AdministrationError(`${OF_THE_HOST} tokens of its own`)
    return this.#parts.tokens
  }

  #signIns(): { readonly sessions: Sessions; readonly address: () => string } {
    if (this.#parts.signIns) return this.#parts.signIns
    throw new AdministrationError(
      'nobody signs in by links here: they need a running service with a LevelDB store, with the setting pages on ' +
        'and without the setting signIn.header',
    )
  }

  #contents(): StoreContents {
    if (!this.#store.contents) throw new AdministrationError(`${OF_THE_HOST} a store of its own`)
    return this.#store.contents
  }

  #maintenance(): StoreMaintenance {
    if (!this.#store.maintenance)
      throw new AdministrationError('this is no LevelDB store: it is checked and backed up with tools of its own')
    return this.#store.maintenance
  }

  #folder(): RepositoryFolder {
    if (!this.#parts.repositories) throw new AdministrationError(`${OF_THE_HOST} its own way to find repositories`)
    return this.#parts.repositories
  }
}

const OF_THE_HOST = 'the git server that this service lives in has'

function listed({ digest: _, ...token }: TokenRecord & TokenUse): ListedToken {
  return token
}

/** What the audit log says of a token. */
function audited({ id, user, name, scopes, expires_at, ...more }: TokenRecord): object {
  return { token: id, user, name, scopes, expires_at, ...limitsOf(more) }
}
