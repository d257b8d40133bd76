import type { RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import { parsePush, type Pushes } from './pushes.js'
import { RepositoryAccess, type Caller, type RepositoryAccessDependencies } from './repository-access.js'
import { stored } from './status-lists.js'
import { reporterOf, type ReportBody } from './status-reports.js'

export interface PushReportsDependencies extends RepositoryAccessDependencies {
  readonly pushes: Pick<Pushes, 'note'>
}

/** Pushes that a git server hands over with a token that may report. */
export class PushReports {
  readonly #pushes: Pick<Pushes, 'note'>
  readonly #access: RepositoryAccess

  constructor({ pushes, ...dependencies }: PushReportsDependencies) {
    this.#pushes = pushes
    this.#access = new RepositoryAccess(dependencies)
  }

  /**
   * Notes a push; it is on disk once this has resolved. The checks are those of a report: the first that fails decides.
   * @param readBody as of a report
   * @returns how many deliveries it makes
   * @throws ServiceError
   */
  async report(caller: Caller, name: RepositoryName | undefined, readBody: () => Promise<ReportBody>): Promise<number> {
    let found = await this.#access.find(caller, name, 'write')
    // It is that of a check, which pushes nothing.
    if (caller.limits?.contexts)
      throw new ServiceError('context_denied', { text: 'a token for some contexts may not report a push' })
    const { body, isLate, caller: latest = caller } = await readBody()
    if (isLate) found = await this.#access.find(latest, name, 'write')
    return await stored(this.#pushes.note(found.name, parsePush(body), reporterOf(latest).user))
  }
}
