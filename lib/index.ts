export { createCommitStatusService } from './embedding/create-service.js'
export type { CommitStatusService } from './embedding/commit-status-service.js'
export type { CommitStatusOptions, HostPages } from './embedding/options.js'
export { commandAccessPolicy, type CommandAccessPolicyOptions } from './embedding/command-access-policy.js'

export type { CommitState, CommitStates } from './domain/commit-status.js'
export type { CommitStatus, Reporter, State, StoredStatus } from './domain/commit-status.js'
export {
  AdministrationError,
  PartError,
  RightsUnavailable,
  ServiceError,
  StartError,
  StoreCorrupt,
  StoreFenced,
  StoreLocked,
  StoreOverloaded,
  ContextLimitReached,
  StoreUnavailable,
  TokenLimitReached,
  type ErrorCode,
} from './errors.js'
export type { Handler } from './http/dispatcher.js'
export type { ReportShape } from './domain/report.js'
export type { StatusList } from './domain/status-list.js'
export type { VerdictQuery } from './domain/verdict/rule.js'
export type { Requirement, Verdict } from './domain/verdict/verdict.js'
export type { StatusEvent, StatusListener } from './service/status-events.js'

// The parts that a host may replace.
export type { Access, AccessPolicy } from './contracts/access-policy.js'
export type { Authenticator, Identity } from './contracts/authenticator.js'
export type { TokenLimits } from './contracts/token-limits.js'
export type { FailureBudget } from './contracts/failure-budget.js'
export type { Clock } from './contracts/clock.js'
export type { Repositories, Repository } from './contracts/repositories.js'
export type { Logger } from './contracts/logger.js'
export type { RepositoryName } from './domain/repository-name.js'
export type { ObjectFormat, ObjectId } from './domain/object-id.js'
export type { GrantStore, StatusStore, Store, TokenStore } from './contracts/store.js'
export type { Grant, GrantKey, SavedStatus, TokenRecord, TokenUse } from './contracts/records.js'

// Administration, as `service.administration` has it.
export type {
  Administration,
  ListedGrant,
  ListedRepositories,
  SkippedFolder,
  ListedRepository,
  ListedToken,
  RepositoryCounts,
} from './admin/administration.js'
export type { Actor } from './admin/audit-log.js'
export type { ReportedCommit, ReportedItem } from './admin/reported-commits.js'
export type { ImportCounts } from './admin/store-import.js'
export type { RetentionRule } from './admin/retention.js'
export type { PruneCounts, PruneFinding, PruneReason, PruneRequest } from './admin/store-prune.js'
export type { RepositoryCount, StoreStatistics } from './admin/store-statistics.js'
export type { StoreCounts, StoreFindings } from './contracts/store-administration.js'
export { runTask, type Progress, type Task, type TaskStep } from './concurrency/task.js'
