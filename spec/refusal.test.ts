import t from 'tap'
import { ServiceError } from '../lib/errors.js'
import { refusalFor } from '../lib/refusal.js'
import { StoreCorrupt, StoreFenced, StoreOverloaded, StoreUnavailable } from '../lib/store/store.js'

t.test('A store that cannot be used is 503, with a cause for the log unless the log has been told', async (t) => {
  const away = new StoreUnavailable('the store cannot be read')
  t.match(refusalFor(away), { code: 'store_unavailable', status: 503, cause: away })
  t.match(refusalFor(new StoreFenced('a write failed')), { code: 'store_unavailable', status: 503, cause: undefined })
  t.match(refusalFor(new StoreOverloaded('too much waits')), { code: 'overloaded', status: 503, retryAfter: 1, cause: undefined })
})

t.test('A refusal is told as it is, anything else as an internal error', async (t) => {
  const refused = new ServiceError('commit_not_found')
  t.equal(refusalFor(refused), refused)
  for (const fault of [new StoreCorrupt('damaged'), new TypeError('x'), 'thrown', undefined]) t.match(refusalFor(fault), { code: 'internal', status: 500 })
})
