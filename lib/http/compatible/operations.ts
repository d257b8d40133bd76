import type { About } from '../../auth/log-ins.js'
import type { ChangedLines, LineCounts } from '../../git/changed-lines.js'
import type { CommitContent } from '../../git/commit-content.js'
import { quickStat } from '../../git/stat.js'
import { ServiceError } from '../../errors.js'
import type { State, StoredStatus } from '../../domain/commit-status.js'
import { parseObjectId, type ObjectFormat, type ObjectId } from '../../domain/object-id.js'
import { chain, closing, type MaybePromise } from '../../concurrency/maybe-promise.js'
import type { CacheShares } from '../../contracts/cache-shares.js'
import type { Meter } from '../../contracts/meter.js'
import type { Repository } from '../../contracts/repositories.js'
import type { ReportShape } from '../../domain/report.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { SentList } from '../../domain/status-list.js'
import type { InFlight } from '../../service/in-flight.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { LocatedCommit } from '../../service/status-lists.js'
import type { StatusReports } from '../../service/status-reports.js'
import { readBytes, receiveReport } from '../body.js'
import type { Answer } from '../exchange.js'
import type { Call } from './api.js'
import { timeOf } from './formats.js'
import { Listing, type ListForm } from './listing.js'
import type { Projects } from './projects.js'
import { RefOperations, type RefOperationsDependencies } from './ref-operations.js'

/** What HEAD is taken to name where it names nothing that can be read. */
export const USUAL_BRANCH = 'main'

export interface OperationsDependencies extends RefOperationsDependencies {
  readonly reports: StatusReports
  readonly lines: ChangedLines
  readonly projects: Projects
  readonly inFlight: InFlight
  readonly meter: Meter
  readonly shares: CacheShares
}

/** What the statuses of a commit come to, and when the first was reported and the last changed. */
export interface StatusSpan {
  readonly state: State
  readonly first: string
  readonly last: string
}

/** What the compatible APIs are made of: what a client asks for, in our words. */
export class Operations {
  /** What is asked of branches, tags and other refs. */
  readonly refs: RefOperations
  readonly #dependencies: OperationsDependencies
  readonly #listing: Listing
  /** Of the lists that are held in memory, as long as they are. */
  readonly #spans = new WeakMap<SentList, StatusSpan>()

  constructor(dependencies: OperationsDependencies) {
    this.refs = new RefOperations(dependencies)
    this.#dependencies = dependencies
    this.#listing = new Listing(dependencies.meter, dependencies.shares.answers)
  }

  /** The number of a repository, for clients that know repositories by numbers. */
  numberOf({ name }: VisibleRepository): number {
    return this.#dependencies.projects.numberOf(name)
  }

  /** The repositories that a client may mean by a name or a number. */
  mayMean(id: string): About {
    return this.#dependencies.projects.mayMean(id)
  }

  /**
   * The name of the repository that a client names or numbers.
   * @returns `undefined` for what is no name
   */
  named({ caller }: Call, id: string): MaybePromise<RepositoryName | undefined> {
    const { projects, lists } = this.#dependencies
    return projects.find(id, (name) => lists.find(caller, name, 'write'))
  }

  /**
   * Saves the report that a request carries.
   * @param shapeOf what its body means
   */
  async report(
    { request, response, caller, authenticate }: Call,
    name: RepositoryName | undefined,
    sha: string,
    shapeOf: (body: Buffer) => ReportShape,
  ): Promise<{ found: VisibleRepository; status: StoredStatus }> {
    const { reports, inFlight } = this.#dependencies
    return await reports.report(caller, name, sha, () =>
      receiveReport(inFlight, async () => shapeOf(await readBytes(request, response)), authenticate),
    )
  }

  /**
   * Lists the statuses of the commit that a ref names.
   * @param formOf how they are shown
   */
  list(
    { caller }: Call,
    name: RepositoryName | undefined,
    ref: string,
    formOf: (at: LocatedCommit) => MaybePromise<ListForm>,
  ): MaybePromise<Answer> {
    return chain(this.#dependencies.lists.list(caller, name, this.#commitOf(ref), 'write'), (at) =>
      this.#listing.answer(at.list, () => formOf(at)),
    )
  }

  async commit({ caller }: Call, name: RepositoryName | undefined, ref: string): Promise<LocatedCommit> {
    return await this.#dependencies.lists.findCommit(caller, name, this.#commitOf(ref), 'write')
  }

  /** A commit that a ref names, and what its statuses come to. */
  async reported(
    { caller }: Call,
    name: RepositoryName | undefined,
    ref: string,
  ): Promise<LocatedCommit & { readonly span: StatusSpan | undefined }> {
    const { found, commit, list } = await this.#dependencies.lists.list(caller, name, this.#commitOf(ref), 'write')
    return { found, commit, span: await closing(list, async () => await this.#spanOf(list)) }
  }

  /** How many lines a commit has changed. */
  async lines({ found, commit }: LocatedCommit, { parents: [parent] }: CommitContent): Promise<LineCounts> {
    return await this.#dependencies.lines.count(found.repository.directory, commit, parent)
  }

  async content({ found, commit }: LocatedCommit): Promise<CommitContent> {
    const { contents } = this.#dependencies
    const [{ content }] = await contents.read(found.repository.directory, [{ id: commit.hex }])
    return content
  }

  async repository({ caller }: Call, name: RepositoryName | undefined): Promise<VisibleRepository> {
    return await this.#dependencies.lists.find(caller, name, 'write')
  }

  defaultBranch({ repository }: VisibleRepository): MaybePromise<string> {
    return chain(this.#dependencies.refs.defaultBranch(repository), (branch) => branch ?? USUAL_BRANCH)
  }

  /** When the folder of a repository was made, to the second. */
  async born({ repository }: VisibleRepository): Promise<string> {
    try {
      return timeOf((await quickStat(repository.directory)).birthtimeMs / 1000)
    } catch (cause) {
      throw new ServiceError('repository_unreadable', { cause })
    }
  }

  /** The object format of a repository, by what HEAD names; the usual one where that is not there. */
  async format({ repository }: VisibleRepository): Promise<ObjectFormat> {
    return (await this.#dependencies.refs.resolve(repository, 'HEAD'))?.format ?? 'sha1'
  }

  /** @returns `undefined` where there are no statuses */
  async #spanOf(list: SentList): Promise<StatusSpan | undefined> {
    const span = this.#spans.get(list) ?? (await spanOf(list))
    if (span) this.#spans.set(list, span)
    return span
  }

  /** A full id is taken as it is; any other text is a ref. */
  #commitOf(ref: string): (repository: Repository) => ObjectId | Promise<ObjectId> {
    return (repository) => parseObjectId(ref) ?? this.#resolve(repository, ref)
  }

  async #resolve(repository: Repository, ref: string): Promise<ObjectId> {
    const commit = await this.#dependencies.refs.resolve(repository, ref)
    if (!commit) throw new ServiceError('commit_not_found')
    return commit
  }
}

/** Takes every status apart. */
async function spanOf(list: SentList): Promise<StatusSpan | undefined> {
  let span: Omit<StatusSpan, 'state'> | undefined
  for await (const statuses of list.pages()) {
    for (const status of statuses) {
      const { created_at, updated_at } = status.parse()
      span = {
        first: span && span.first < created_at ? span.first : created_at,
        last: span && span.last > updated_at ? span.last : updated_at,
      }
    }
  }
  const { state } = list.summary
  return span && state ? { state, ...span } : undefined
}

/** The caller's user name. @throws ServiceError `credentials_missing` for anonymous calls */
export function userOf({ caller }: Call): string {
  if (caller.user === undefined) throw new ServiceError('credentials_missing')
  return caller.user
}
