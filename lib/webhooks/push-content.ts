import type { HookRecord, OutboxEntry, PushContents, PushDelivery } from '../contracts/hooks.js'
import type { Repositories } from '../contracts/repositories.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import { parsePushText, type Push } from '../domain/push.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import type { PushedCommits } from '../git/pushed-commits.js'
import type { Content } from './told-content.js'

export interface PushContentDependencies {
  readonly repositories: MaybeSync<Repositories>
  readonly pushes: Pick<PushedCommits, 'of'>
}

/** Reads what hooks are told of pushes: what was pushed is kept, its commits are read when it is sent. */
export class PushContent {
  readonly #dependencies: PushContentDependencies

  constructor(dependencies: PushContentDependencies) {
    this.#dependencies = dependencies
  }

  /** @throws ServiceError `overloaded` */
  async of(hook: HookRecord, { repository, subject, delivery: id }: OutboxEntry): Promise<Content> {
    const push = parsePushText(subject)
    if (!push) return { deliveries: [], told: null }
    const contents = await this.#read(repository, push)
    const delivery: PushDelivery = { id, event: 'push', hook, repository, push, ...contents }
    return { deliveries: [delivery], told: null }
  }

  async #read(repository: RepositoryName, push: Push): Promise<PushContents> {
    const { repositories, pushes } = this.#dependencies
    const folder = await repositories.find(repository)
    try {
      if (folder) return await pushes.of(folder.directory, push)
    } catch (error) {
      if (error instanceof ServiceError) throw error
      // Whatever is wrong with the repository, what was pushed is told.
    }
    return { commits: [], total: 0, forced: false }
  }
}
