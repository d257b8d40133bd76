// Races against the budget of failed log-ins: many guesses at once, all begun before the first one has been counted.
// Whoever counts only after the look-up, or lets a right guess past the limit, tells an attacker with enough
// connections
// as many guesses as there are connections, in each window.
import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { MemoryFailureBudget } from '../../lib/auth/memory-failure-budget.js'
import { makeToken } from '../../lib/auth/token.js'
import { ServiceError } from '../../lib/errors.js'
import { Authentication } from '../../lib/http/authentication.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { statusesOf } from '../fixtures/raw-http.js'

const LIMIT = 20
const GUESSES = 200

/** Guesses that cost a look-up in the store, and guesses that are refused by their form. */
const guesses = { 'well-formed': () => makeToken('cst'), malformed: () => 'guess' }

for (const [kind, guess] of Object.entries(guesses)) {
  t.test(
    `Of ${GUESSES} ${kind} wrong tokens at once, on as many connections, no more than the limit are told that ` +
      `they are wrong`,
    async (t) => {
      const { service, sha, listPath, token } = await hostCommit(t)
      const answers = await Promise.all(
        Array.from({ length: GUESSES }, async () => await service.call('GET', listPath, { token: guess() })),
      )
      const refused = answers.filter(({ status }) => status === 401)
      t.equal(refused.length, LIMIT)
      const stopped = answers.filter(({ status }) => status === 429)
      t.equal(stopped.length, GUESSES - LIMIT, 'the rest gets 429')
      t.ok(
        stopped.every(({ headers }) => /^[1-9]\d*$/.test(headers.get('retry-after') ?? '')),
        'with a Retry-After of whole seconds, at least 1',
      )
      t.strictSame(
        new Set(stopped.map(({ text }) => text)),
        new Set(['{"error":"too many failed authentication attempts"}\n']),
      )

      t.equal(
        (await service.report('alice/hello', sha, token, { state: 'success' })).status,
        429,
        'a right token after them is refused',
      )
      const anonymous = await service.list('alice/hello', sha)
      t.equal(anonymous.status, 200, 'requests without credentials go on')
      t.strictSame(anonymous.body['statuses'], [], 'nothing was stored')
      const other = await service.call('GET', '/healthz')
      t.equal(other.status, 200, 'the service still answers')
    },
  )

  t.test(
    `A right token right behind ${GUESSES} ${kind} wrong ones, all on their way at once, is refused like them`,
    async (t) => {
      const { service, listPath, token } = await hostCommit(t)
      const tokens = [...Array.from({ length: GUESSES }, guess), token]
      const statuses = await statusesOf(
        service.url,
        tokens.map((sent) => [`GET ${listPath} HTTP/1.1`, `Authorization: Bearer ${sent}`]),
      )
      t.equal(statuses.length, GUESSES + 1)
      t.equal(statuses.filter((status) => status === 401).length, LIMIT)
      t.equal(statuses.filter((status) => status === 429).length, GUESSES - LIMIT + 1)
      t.equal(statuses.at(-1), 429)
    },
  )
}

function codeOf(error: unknown): unknown {
  return error instanceof ServiceError ? error.code : error
}

/** A request as it comes out of node:http. */
function requestWith(token: string): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.rawHeaders = ['Authorization', `Bearer ${token}`]
  request.headers = { authorization: `Bearer ${token}` }
  return request
}

t.test(
  'However slow the authenticator is and in whatever order it answers, no more guesses are answered than the ' +
    'limit allows',
  async (t) => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.boolean(), { maxLength: 40 }),
      async (scheduler, limit, tokens) => {
        const resolved: boolean[] = []
        const authentication = new Authentication({
          authenticator: {
            authenticate: async (token) => {
              const isRight = await scheduler.schedule(Promise.resolve(token === 'right'))
              resolved.push(isRight)
              return isRight ? { user: 'alice', scopes: ['repo'] } : undefined
            },
          },
          failures: new MemoryFailureBudget({ limit, windowSeconds: 600 }),
          clientAddress: () => '198.51.100.1',
          meter: noopMeter,
        })
        const answered: unknown[] = []
        const answers = tokens.map(async (isRight) => {
          const answer = Promise.resolve(authentication.caller(requestWith(isRight ? 'right' : 'wrong'), undefined))
          answered.push(await answer.then(({ user }) => user, codeOf))
        })
        await scheduler.waitFor(Promise.all(answers))

        let failures = 0
        const allowed = resolved.map((isRight) => {
          if (isRight) return failures < limit ? 'alice' : 'too_many_failures'
          failures++
          return failures <= limit ? 'credentials_wrong' : 'too_many_failures'
        })
        assert.deepEqual(answered.toSorted(), allowed.toSorted())
      },
    )
    await t.resolves(fc.assert(property, { numRuns: 100 }))
  },
)
