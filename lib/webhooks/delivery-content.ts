import type {
  BranchDelivery,
  DeliveredCommit,
  HookRecord,
  Outbox,
  OutboxEntry,
  StatusDelivery,
} from '../contracts/hooks.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { WholeStore } from '../contracts/store.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import { combinedState, hasFailed } from '../domain/commit-status.js'
import { derivedUuid } from '../domain/derived-uuid.js'
import { HEADS, isPushText } from '../domain/push.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import { ServiceError, StoreCorrupt } from '../errors.js'
import type { CommitContents } from '../git/commit-content.js'
import type { RefLists } from '../git/ref-lists.js'
import { matcherOf, onsOf, wantsStatus } from '../store/hook-index.js'
import { isKnown, marksAfter } from './branch-marks.js'
import type { Content } from './told-content.js'
import type { PushContent } from './push-content.js'

export interface DeliveryContentDependencies {
  readonly statuses: Pick<WholeStore['statuses'], 'status' | 'list'>
  readonly outbox: Pick<Outbox, 'broken'>
  readonly repositories: MaybeSync<Repositories>
  readonly refLists: Pick<RefLists, 'of'>
  readonly contents: Pick<CommitContents, 'read'>
  readonly pushes: Pick<PushContent, 'of'>
}

/** The most branches with one tip that are told of what it comes to, and that a status names. */
const [MAX_BRANCHES, MAX_NAMED] = [1000, 10]

const NOTHING: Content = { deliveries: [], told: null }

/** Reads what hooks are told, as it is when it is sent. */
export class DeliveryContent {
  readonly #dependencies: DeliveryContentDependencies

  constructor(dependencies: DeliveryContentDependencies) {
    this.#dependencies = dependencies
  }

  /** @throws StoreUnavailable, ServiceError `overloaded`; what is damaged is not told */
  async of(hook: HookRecord, entry: OutboxEntry): Promise<Content> {
    // What waits goes with a repository to another owner: with it go hooks on it, not those on all of an owner.
    if (hook.on.endsWith('/*') && !onsOf(entry.repository).includes(hook.on)) return NOTHING
    if (isPushText(entry.subject)) return await this.#dependencies.pushes.of(hook, entry)
    const [sha = '', ...rest] = entry.subject.split('/')
    const commit = parseObjectId(sha)
    if (!commit) return NOTHING
    const context = rest.join('/')
    try {
      return context === ''
        ? await this.#ofBranches(hook, entry, commit)
        : await this.#ofStatus(hook, entry, commit, context)
    } catch (error) {
      if (error instanceof StoreCorrupt) return NOTHING
      throw error
    }
  }

  async #ofStatus(hook: HookRecord, entry: OutboxEntry, commit: ObjectId, context: string): Promise<Content> {
    const { repository } = entry
    const status = await this.#dependencies.statuses.status(repository, commit, context)
    if (!status || !wantsStatus(hook, status.state)) return { ...NOTHING, told: entry.from }
    const folder = await this.#dependencies.repositories.find(repository)
    const branches = await this.#branchesAt(folder, commit, hook, MAX_NAMED).catch((error: unknown) => {
      // Whatever is wrong with the repository, its statuses are as they are: but not who is told of them.
      if (error instanceof ServiceError || hook.branches) throw error
      return []
    })
    if (hook.branches && branches.length === 0) return { ...NOTHING, told: entry.from }
    const delivery: StatusDelivery = {
      ...{ id: entry.delivery, event: 'status', hook, repository, status, previous_state: entry.from, branches },
      ...(await this.#contentOf(folder, commit)),
    }
    return { deliveries: [delivery], told: status.state }
  }

  /** What is new of the branches whose tip it is: those that failed and had not, and the other way round. */
  async #ofBranches(hook: HookRecord, { repository, delivery }: OutboxEntry, commit: ObjectId): Promise<Content> {
    const { statuses: stored, outbox, repositories } = this.#dependencies
    const folder = await repositories.find(repository)
    const tips = await this.#branchesAt(folder, commit, hook, MAX_BRANCHES)
    if (tips.length === 0) return NOTHING
    const coversContext = matcherOf(hook.contexts)
    const statuses = (await stored.list(repository, commit)).filter(({ context }) => coversContext(context))
    const state = combinedState(statuses.map((status) => status.state))
    if (state === null || state === 'pending') return NOTHING
    const known = await outbox.broken(hook.id, repository)
    const event = state === 'failure' ? 'broken' : 'fixed'
    const changed = tips.filter((branch) => !isKnown(known, branch, event))
    if (!hook.events.includes(event)) return { ...NOTHING, marks: () => marksAfter(known, event, changed) }
    const content = await this.#contentOf(folder, commit)
    const shown = event === 'broken' ? statuses.filter(hasFailed) : statuses
    const deliveries = changed.map((branch): BranchDelivery => ({
      ...{
        id: derivedUuid(`${delivery} ${branch}`),
        event,
        hook,
        repository,
        branch,
        sha: commit.hex,
        statuses: shown,
      },
      ...content,
    }))
    const marks = (made: number, isSending: boolean) =>
      marksAfter(known, event, changed.slice(0, made), isSending ? changed.slice(made, made + 1) : [])
    return { deliveries, told: null, marks }
  }

  /** Branches whose tip a commit is, by their short names: of a hook on some branches, these alone. */
  async #branchesAt(
    folder: Repository | undefined,
    { hex }: ObjectId,
    hook: HookRecord,
    limit: number,
  ): Promise<string[]> {
    if (!folder) return []
    const matches = matcherOf(hook.branches)
    const list = await this.#dependencies.refLists.of(folder)
    const { refs } = await list.page({
      prefix: HEADS,
      selects: ({ name, id }) => id === hex && matches(name.slice(HEADS.length)),
      skip: 0,
      limit,
    })
    return refs.map(({ name }) => name.slice(HEADS.length))
  }

  async #contentOf(folder: Repository | undefined, { hex }: ObjectId): Promise<{ readonly commit?: DeliveredCommit }> {
    if (!folder) return {}
    try {
      const [{ content }] = await this.#dependencies.contents.read(folder.directory, [{ id: hex }])
      return { commit: content }
    } catch {
      return {}
    }
  }
}
