import type { CommitStatus } from '../domain/commit-status.js'
import { AdministrationError, errorMessage } from '../errors.js'
import type { Commits } from '../git/commits.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import { parseObjectId } from '../domain/object-id.js'
import type { Repository } from '../contracts/repositories.js'
import type { RepositoryStatus, StoreContents } from '../contracts/store-administration.js'
import type { Task } from '../concurrency/task.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** Which statuses may go: those of which any of this is so. */
export interface PruneRequest {
  /** Their commit is gone from its repository. */
  readonly goneCommits: boolean
  /** Their repository is gone. */
  readonly goneRepositories: boolean
  /** They were updated before this time (ISO 8601); `null`: whenever. */
  readonly olderThan: string | null
  /** Whether they go; if not, they are counted only. */
  readonly remove: boolean
}

export type PruneReason = 'older' | 'repository gone' | 'commit gone'

/** What goes from a repository for one reason, or is kept since nothing shows whether it may go. */
export interface PruneFinding {
  readonly repository: string
  readonly reason: PruneReason | 'kept'
  readonly statuses: number
  /** Why that cannot be determined. */
  readonly because?: string
}

export interface PruneCounts {
  /** How many go, or would go. */
  readonly statuses: number
  /** How many stay since nothing shows whether they may go. */
  readonly kept: number
}

export function nothingPruned(): { -readonly [Name in keyof PruneCounts]: number } {
  return { statuses: 0, kept: 0 }
}

export interface PruneDependencies {
  readonly contents: StoreContents
  readonly repositories: Pick<RepositoryFolder, 'find' | 'exists' | 'list'>
  readonly commits: Commits
}

/**
 * Finds what may go and, where that is asked for, removes it; a status that changes meanwhile stays.
 * @param counts what has been found and done by now, for whoever must know when the work is ended early
 */
export async function* pruneStore(
  dependencies: PruneDependencies,
  request: PruneRequest,
  counts = nothingPruned(),
): Task<PruneCounts, PruneFinding> {
  const judge = new Judge(dependencies, request)
  if (request.goneRepositories) await judge.proveFolder()
  let done = 0
  let tally: Tally | undefined
  for await (const page of dependencies.contents.pages()) {
    const items: PruneFinding[] = []
    for (const [repository, ofRepository] of byRepository(page.statuses)) {
      if (tally?.repository.full !== repository.full) {
        items.push(...(tally?.findings ?? []))
        tally = new Tally(repository)
      }
      const verdicts = await judge.judge(repository, ofRepository)
      for (const [reason, doomed] of verdicts.doomed) {
        const statuses =
          request.remove && doomed.length > 0 ? await dependencies.contents.remove(repository, doomed) : doomed.length
        counts.statuses += statuses
        tally.add(reason, statuses)
      }
      counts.kept += verdicts.kept
      tally.keep(verdicts.kept, verdicts.because)
    }
    done += page.statuses.length
    yield { items, progress: { phase: request.remove ? 'pruning' : 'looking', done, share: page.share } }
  }
  yield { items: tally?.findings ?? [] }
  return counts
}

/** They stand together. */
function byRepository(statuses: readonly RepositoryStatus[]): [RepositoryName, CommitStatus[]][] {
  const groups: [RepositoryName, CommitStatus[]][] = []
  for (const { repository, status } of statuses) {
    const last = groups.at(-1)
    if (last?.[0].full === repository.full) last[1].push(status)
    else groups.push([repository, [status]])
  }
  return groups
}

/** What has been found in a repository. */
class Tally {
  readonly repository: RepositoryName
  readonly #counts = new Map<PruneReason, number>()
  #kept = 0
  #because = ''

  constructor(repository: RepositoryName) {
    this.repository = repository
  }

  get findings(): PruneFinding[] {
    const repository = this.repository.full
    const gone = [...this.#counts]
      .filter(([, statuses]) => statuses > 0)
      .map(([reason, statuses]): PruneFinding => ({ repository, reason, statuses }))
    return this.#kept > 0
      ? [...gone, { repository, reason: 'kept', statuses: this.#kept, because: this.#because }]
      : gone
  }

  add(reason: PruneReason, statuses: number): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + statuses)
  }

  keep(statuses: number, because: string): void {
    this.#kept += statuses
    if (this.#because === '') this.#because = because
  }
}

interface Verdicts {
  readonly doomed: ReadonlyMap<PruneReason, CommitStatus[]>
  readonly kept: number
  readonly because: string
}

/** Tells what may go: only what is certain. */
class Judge {
  readonly #dependencies: PruneDependencies
  readonly #request: PruneRequest
  readonly #before: string
  /** A repository that was there a moment ago. */
  #witness: RepositoryName | undefined
  /** The repository that could not be read, and why: the next page of it is not looked at in vain. */
  #unreadable: { readonly full: string; readonly error: unknown } | undefined

  constructor(dependencies: PruneDependencies, request: PruneRequest) {
    this.#dependencies = dependencies
    this.#request = request
    this.#before = request.olderThan ?? ''
  }

  /** A folder that is not mounted looks as if every repository were gone. */
  async proveFolder(): Promise<void> {
    const { repositories } = this.#dependencies
    if (this.#witness && (await repositories.find(this.#witness))) return
    // One that can be listed is enough, whatever else lies there.
    for await (const { name } of repositories.list(() => undefined)) {
      this.#witness = name
      return
    }
    throw new AdministrationError('there is not one repository in the repositories folder: nothing is taken for gone')
  }

  /** @param statuses of the repository */
  async judge(repository: RepositoryName, statuses: readonly CommitStatus[]): Promise<Verdicts> {
    const doomed = new Map<PruneReason, CommitStatus[]>([
      ['older', statuses.filter(({ updated_at }) => updated_at < this.#before)],
    ])
    const others = statuses.filter(({ updated_at }) => updated_at >= this.#before)
    const judged = new Set<CommitStatus>()
    try {
      for await (const [reason, gone, looked] of this.#look(repository, others)) {
        for (const status of looked) judged.add(status)
        doomed.set(reason, [...(doomed.get(reason) ?? []), ...gone])
      }
      return { doomed, kept: 0, because: '' }
    } catch (error) {
      if (error instanceof AdministrationError) throw error
      this.#unreadable = { full: repository.full, error }
      return { doomed, kept: others.length - judged.size, because: errorMessage(error) }
    }
  }

  /**
   * Which of these statuses are of something gone, and which of them that is known of; throws when it cannot be
   * determined of more.
   */
  async *#look(
    repository: RepositoryName,
    statuses: readonly CommitStatus[],
  ): AsyncGenerator<[PruneReason, gone: readonly CommitStatus[], looked: readonly CommitStatus[]]> {
    const { goneCommits, goneRepositories } = this.#request
    if (statuses.length === 0 || !(goneCommits || goneRepositories)) return
    if (this.#unreadable?.full === repository.full) throw this.#unreadable.error
    const found = await this.#dependencies.repositories.find(repository)
    if (!found && goneRepositories) {
      await this.proveFolder()
      if (await this.#dependencies.repositories.exists(repository))
        throw new Error(`${repository.full} is still there, inside another repository or a working tree`)
      yield ['repository gone', statuses, statuses]
    }
    if (!found || !goneCommits) return
    for (const ofCommit of byCommit(statuses))
      yield ['commit gone', (await this.#has(found, ofCommit[0])) ? [] : ofCommit, ofCommit]
  }

  async #has({ directory, identity }: Repository, { sha }: CommitStatus): Promise<boolean> {
    const commit = parseObjectId(sha)
    if (!commit) throw new Error(`${sha} is no commit id`)
    return await this.#dependencies.commits.has(directory, commit, identity)
  }
}

/** They stand together. */
function byCommit(statuses: readonly CommitStatus[]): [CommitStatus, ...CommitStatus[]][] {
  const groups: [CommitStatus, ...CommitStatus[]][] = []
  for (const status of statuses) {
    const last = groups.at(-1)
    if (last?.[0].sha === status.sha) last.push(status)
    else groups.push([status])
  }
  return groups
}
