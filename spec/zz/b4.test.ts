import { createCommitStatusService } from '../../lib/index.js'
import t from 'tap'
t.ok(createCommitStatusService)
