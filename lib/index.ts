export { createCommitStatusService } from './embedding/create-service.js'
export type { CommitStatusService } from './embedding/commit-status-service.js'
export type { CommitStatusOptions, HostPages } from './embedding/options.js'

export type { CommitState, CommitStates } from './commit-status.js'
export type { CommitStatus, Reporter, State, StoredStatus } from './commit-status.js'
export {
  AdministrationError,
  PartError,
  ServiceError,
  StartError,
  StoreCorrupt,
  StoreFenced,
  StoreLocked,
  StoreOverloaded,
  ContextLimitReached,
  StoreUnavailable,
  type ErrorCode,
} from './errors.js'
export type { Handler } from './http/handler.js'
export type { ReportShape } from './report.js'
export type { StatusList } from './status-list.js'
export type { VerdictQuery } from './verdict/rule.js'
export type { Requirement, Verdict } from './verdict/verdict.js'
export type { StatusEvent, StatusListener } from './service/status-events.js'

// The parts that a host may replace.
export type { Access, AccessPolicy } from './parts/access-policy.js'
export type { Authenticator, Identity } from './parts/authenticator.js'
export type { TokenLimits } from './parts/token-limits.js'
export type { FailureBudget } from './parts/failure-budget.js'
export type { Clock } from './parts/clock.js'
export type { Repositories, Repository } from './parts/repositories.js'
export type { Logger } from './parts/logger.js'
export type { RepositoryName } from './repository-name.js'
export type { ObjectFormat, ObjectId } from './object-id.js'
export type { GrantStore, StatusStore, Store, TokenStore } from './parts/store.js'
export type { Grant, GrantKey, SavedStatus, TokenRecord, TokenUse } from './parts/records.js'

// Administration, as `service.administration` has it.
export type {
  Administration,
  ListedGrant,
  ListedRepositories,
  ListedRepository,
  ListedToken,
  RepositoryCounts,
} from './admin/administration.js'
export type { Actor } from './admin/audit-log.js'
export type { ReportedCommit, ReportedItem } from './admin/reported-commits.js'
export type { ImportCounts } from './admin/store-import.js'
export type { PruneCounts, PruneFinding, PruneReason, PruneRequest } from './admin/store-prune.js'
export type { RepositoryCount, StoreStatistics } from './admin/store-statistics.js'
export type { StoreCounts, StoreFindings } from './parts/store-administration.js'
export { runTask, type Progress, type Task, type TaskStep } from './parts/task.js'
