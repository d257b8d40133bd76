import { isAbsolute } from 'node:path'
import { PartError } from '../errors.js'
import { ACCESS, type Access, type AccessPolicy } from '../contracts/access-policy.js'
import type { Authenticator, Identity } from '../contracts/authenticator.js'
import { systemClock, type Clock } from '../contracts/clock.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import type { Logger } from '../contracts/logger.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import { recordSchema } from '../contracts/records.js'
import { tokenLimitMembers } from '../contracts/token-limits.js'
import { HOST_USER } from '../domain/repository-name.js'
import { Schema } from '../domain/schema.js'
import { callPart, ignoreLateResult, type PartCall } from './guarded-call.js'

/*
 * The parts that a host may replace, each behind a guard: it may throw, reject, hang or answer nonsense, and what
 * comes through is an answer that fits its contract, or a rejection. (The store's guard is in guarded-store.ts.)
 */

export function guardRepositories(part: Repositories, guard: PartCall): Repositories {
  return {
    find: async (name, only) => await callPart(guard, 'find', () => part.find(name, only), isRepositoryOrNothing),
  }
}

export function guardAuthenticator(part: Authenticator, guard: PartCall): Authenticator {
  return {
    authenticate: async (token) => {
      const identity = await callPart(guard, 'authenticate', () => part.authenticate(token), isIdentityOrNothing)
      refuseHost(guard, 'authenticate', identity?.user)
      return identity
    },
  }
}

export function guardAccessPolicy(part: AccessPolicy, guard: PartCall): AccessPolicy {
  return {
    access: async (user, repository, wanted) =>
      await callPart(guard, 'access', () => part.access(user, repository, wanted), isAccess),
    ...(part.accessToEach && {
      accessToEach: async (user, repositories, wanted) =>
        await callPart(
          guard,
          'accessToEach',
          () => part.accessToEach?.(user, repositories, wanted),
          (answer): answer is Access[] =>
            Array.isArray(answer) && answer.length === repositories.length && answer.every(isAccess),
        ),
    }),
  }
}

export function guardFailureBudget(part: FailureBudget, guard: PartCall): FailureBudget {
  return {
    retryAfter: async (address) =>
      Math.ceil(await callPart(guard, 'retryAfter', () => part.retryAfter(address), isSeconds)),
    // A host's method that only counts need not answer.
    recordFailure: async (address) =>
      Math.ceil((await callPart(guard, 'recordFailure', () => part.recordFailure(address), isSecondsOrNothing)) ?? 0),
  }
}

/** A logger that never throws: a log line that is lost must not cost an answer. */
export function guardLogger(part: Logger): Logger {
  const line =
    (level: keyof Logger) =>
    (facts: object, message: string): void => {
      try {
        // A host's may be asynchronous after all.
        // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression
        const answer: unknown = part[level](facts, message)
        if (answer !== undefined) ignoreLateResult(answer)
      } catch {
        // There is nowhere left to say it.
      }
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** A clock that always returns a time: the system's, when the part returns none. */
export function guardClock(part: Clock, logger: Logger): Clock {
  return {
    now() {
      try {
        const now = ignoreLateResult(part.now())
        if (typeof now === 'number' && !Number.isNaN(new Date(now).getTime())) return now
        logger.error({ answer: String(now) }, 'the clock told no time')
      } catch (error) {
        logger.error({ err: error }, 'the clock failed')
      }
      return systemClock.now()
    },
  }
}

function isRepositoryOrNothing(answer: unknown): answer is Repository | undefined {
  if (answer === undefined) return true
  return (
    hasMembers(answer, 'directory', 'public') &&
    typeof answer.directory === 'string' &&
    isAbsolute(answer.directory) &&
    typeof answer.public === 'boolean'
  )
}

/** A limit of a wrong type is an error: to ignore it would widen the token. */
export const isIdentity = new Schema<Identity>(
  recordSchema(
    { user: { type: 'string', minLength: 1 }, scopes: { type: 'array', items: { type: 'string' } } },
    { tokenId: { type: 'string', minLength: 1 }, ...tokenLimitMembers },
  ),
).is

function isIdentityOrNothing(answer: unknown): answer is Identity | undefined {
  return answer === undefined || isIdentity(answer)
}

/** Of a user by that name, reports would count as the host's own. */
function refuseHost({ part }: PartCall, method: string, user: string | undefined): void {
  if (user === HOST_USER)
    throw new PartError(`${part}.${method}() answered the user ${HOST_USER}: no user can have the name of the host`)
}

function isAccess(answer: unknown): answer is Access {
  return ACCESS.some((access) => access === answer)
}

function isSeconds(answer: unknown): answer is number {
  return typeof answer === 'number' && answer >= 0 && Number.isFinite(answer)
}

function isSecondsOrNothing(answer: unknown): answer is number | undefined {
  return answer === undefined || isSeconds(answer)
}

function hasMembers<K extends string>(answer: unknown, ...members: K[]): answer is Record<K, unknown> {
  return typeof answer === 'object' && answer !== null && members.every((member) => member in answer)
}
