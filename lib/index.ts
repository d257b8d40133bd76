export { createCommitStatusService, type CommitStatusService } from './commit-status-service.js'
export type { CommitStatusOptions } from './options.js'

export type { CommitStatus, State } from './commit-status.js'
export { ServiceError, type ErrorCode } from './errors.js'
export type { Handler } from './http/handler.js'
export type { ReportShape } from './report.js'
export type { StatusList } from './status-list.js'
export { StartError } from './start-error.js'
export type { StatusEvent, StatusListener } from './status-events.js'

// The parts that a host may replace.
export type { Access, AccessPolicy } from './access.js'
export type { Authenticator, Identity } from './auth/authenticator.js'
export type { FailureBudget } from './auth/failure-budget.js'
export type { Clock } from './clock.js'
export type { Repositories, Repository } from './git/repositories.js'
export type { Logger } from './logger.js'
export type { RepositoryName } from './repository-name.js'
export type { ObjectFormat, ObjectId } from './object-id.js'
export {
  StoreCorrupt,
  StoreLocked,
  StoreUnavailable,
  type Grant,
  type GrantKey,
  type GrantStore,
  type SavedStatus,
  type StatusStore,
  type Store,
  type TokenRecord,
  type TokenStore,
  type TokenUse,
} from './store/store.js'
