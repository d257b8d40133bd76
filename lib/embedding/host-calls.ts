import type { AuditedRepositories } from '../admin/audit-log.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import type { Authenticator } from '../contracts/authenticator.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import { toApiStatus } from '../domain/commit-status.js'
import { parseRepositoryName } from '../domain/repository-name.js'
import { verdictRule } from '../domain/verdict/rule.js'
import { toServiceError } from '../errors.js'
import type { InFlight } from '../service/in-flight.js'
import type { StatusEvents } from '../service/status-events.js'
import type { StatusLists } from '../service/status-lists.js'
import type { StatusReports } from '../service/status-reports.js'
import type { CommitStatusService } from './commit-status-service.js'
import { callerFor, checkName } from './host-arguments.js'

interface HostCallsDependencies {
  readonly lists: StatusLists
  readonly reports: StatusReports
  readonly inFlight: InFlight
  readonly events: StatusEvents
  readonly failures: MaybeSync<FailureBudget>
  readonly authenticator: MaybeSync<Authenticator>
  readonly audited: AuditedRepositories
}

type HostCalls = Omit<CommitStatusService, 'handler' | 'administration' | 'unavailableReason' | 'metrics' | 'close'>

/** The operations that the host's program calls, without HTTP. None needs its object: a host may take one by itself. */
export function hostCalls({
  lists,
  reports,
  inFlight,
  events,
  failures,
  authenticator,
  audited,
}: HostCallsDependencies): HostCalls {
  return {
    report: async (repository, sha, report, user) => {
      const caller = user === undefined ? { host: true as const } : callerFor(user)
      const name = parseRepositoryName(repository)
      const readBody = () => Promise.resolve({ body: report, isLate: false })
      const { status } = await inFlight.run(async () => await reports.report(caller, name, sha, readBody))
      return toApiStatus(status)
    },
    list: async (repository, sha) => {
      const name = parseRepositoryName(repository)
      const list = await inFlight.run(async () => await lists.statusList({ host: true }, name, sha))
      return { ...list, statuses: list.statuses.map(toApiStatus) }
    },
    states: async (repository, shas) => {
      const name = parseRepositoryName(repository)
      return await inFlight.run(async () => await lists.states({ host: true }, name, shas))
    },
    verdict: async (repository, sha, query = {}) => {
      const name = parseRepositoryName(repository)
      const rule = () => verdictRule(query)
      return (await inFlight.run(async () => await lists.verdict({ host: true }, name, sha, rule))).verdict
    },
    on(event: string, listener) {
      if (event !== 'status' || typeof listener !== 'function') {
        throw new TypeError("on takes the event 'status' and a function")
      }
      return events.on(listener)
    },
    authFailures: {
      retryAfter: async (address) => await failures.retryAfter(address),
      recordFailure: async (address) => await failures.recordFailure(address),
    },
    authenticate: async (token) => {
      inFlight.refuseWhenClosing()
      if (typeof token !== 'string') return undefined
      try {
        return await authenticator.authenticate(token)
      } catch (error) {
        throw toServiceError(error)
      }
    },
    access: async (user, repository) => {
      const name = parseRepositoryName(repository)
      const caller = user === undefined ? {} : callerFor(user)
      if (!name || inFlight.isClosing) return 'none'
      return await inFlight.run(async () => await lists.access(caller, name))
    },
    renameRepository: async (from, to) => {
      await audited.rename('host', checkName(from), checkName(to))
    },
    deleteRepository: async (repository) => {
      await audited.delete('host', checkName(repository))
    },
  }
}
