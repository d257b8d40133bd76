// Alternates without end. For an id that is not there, every object folder is looked into: 3,000 alternates that do not
// exist made each such request of anybody take 4 seconds. A repository may name 64 of them, and more are not followed.
import { join } from 'node:path'
import t from 'tap'
import { unknownId } from '../fixtures/finder.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { borrow } from '../fixtures/history.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'

/** Other programs slow a request down, but they do not make it faster than it is. */
const ATTEMPTS = 5
const MAX_MILLISECONDS = 500

t.test('3,000 alternates that do not exist are refused at once, and the log says why', async (t) => {
  const { service, sha, token, directory, stored } = await hostCommit(t)
  borrow(directory, ...Array.from({ length: 3000 }, (_, number) => `/nonexistent/${number}`))
  const times = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const start = performance.now()
    const answer = await service.list('alice/hello', unknownId('sha1', attempt))
    times.push(performance.now() - start)
    refused(t, answer, 503, 'the repository cannot be read at the moment')
  }
  t.ok(Math.min(...times) < MAX_MILLISECONDS, 'less than 500 ms', { times })
  refused(t, await service.list('alice/hello', sha), 503, 'the repository cannot be read at the moment')
  refused(
    t,
    await service.report('alice/hello', sha, token, { state: 'success' }),
    503,
    'the repository cannot be read at the moment',
  )
  t.strictSame(await stored(), [])
  t.match(JSON.stringify(service.log), /more than 64 alternates are named/)
})

t.test('64 alternates are followed, and a commit of the last of them is found', async (t) => {
  const { service, directory } = await hostCommit(t)
  const lenders = []
  for (let number = 0; number < 64; number++) {
    lenders.push(await makeRepositoryWithCommit(service.repositories, `lender/${number}`))
  }
  borrow(directory, ...lenders.map((lender) => join(lender.directory, 'objects')))
  const sha = await makeCommit(lenders.at(-1)?.directory ?? '', 'of the last one')
  t.equal((await service.list('alice/hello', sha)).status, 200)
  t.equal((await service.list('alice/hello', unknownId('sha1'))).status, 404)
})
