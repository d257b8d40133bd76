export { createCommitStatusService, type CommitStatusOptions, type CommitStatusService } from './commit-status-service.js'
export type { CommitStatus, State } from './commit-status.js'
