import t from 'tap'
import {
  errorMessage,
  failureMessage,
  ServiceError,
  StoreCorrupt,
  StoreFenced,
  StoreOverloaded,
  StoreUnavailable,
  toServiceError,
} from '../lib/errors.js'

t.test('A store that cannot be used is 503, with a cause for the log unless the log has been told', async (t) => {
  const away = new StoreUnavailable('the store cannot be read')
  t.match(toServiceError(away), { code: 'store_unavailable', status: 503, cause: away })
  t.match(toServiceError(new StoreFenced('a write failed')), {
    code: 'store_unavailable',
    status: 503,
    cause: undefined,
  })
  t.match(toServiceError(new StoreOverloaded('too much waits')), {
    code: 'overloaded',
    status: 503,
    retryAfter: 1,
    cause: undefined,
  })
})

t.test('A refusal is told as it is, anything else as an internal error', async (t) => {
  const refused = new ServiceError('commit_not_found')
  t.equal(toServiceError(refused), refused)
  for (const fault of [new StoreCorrupt('damaged'), new TypeError('x'), 'thrown', undefined])
    t.match(toServiceError(fault), { code: 'internal', status: 500 })
})

t.test('The message of a failure is what was thrown, in one line', async (t) => {
  t.equal(errorMessage(new Error('of "{\n  a\n}"')), 'of "{ a }"')
  t.equal(errorMessage('a text'), 'a text')
  t.equal(errorMessage(undefined), 'undefined')
})

t.test('An admin is told what the disk says of a write that failed', async (t) => {
  const cause = new Error('No space left on device')
  t.equal(failureMessage(new StoreFenced('a write failed', { cause })), 'a write failed: No space left on device')
  const said = new StoreFenced('the database cannot be used: No space left on device', { cause })
  t.equal(failureMessage(said), said.message, 'once')
  for (const error of [new StoreFenced('a table is damaged'), new StoreUnavailable('no more', { cause }), cause])
    t.equal(failureMessage(error), error.message)
})
