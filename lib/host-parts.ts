import { isAbsolute } from 'node:path'
import { ACCESS, type Access, type AccessPolicy } from './access.js'
import type { Authenticator, Identity } from './auth/authenticator.js'
import type { FailureBudget } from './auth/failure-budget.js'
import { systemClock, type Clock } from './clock.js'
import type { Repositories, Repository } from './git/repositories.js'
import { atOnce, guarded, type Guard } from './guard.js'
import type { Logger } from './logger.js'

/*
 * The parts that a host may replace, each behind a guard: it may throw, reject, hang or answer nonsense, and what
 * comes through is an answer that fits its contract, or a rejection. (The store's guard is in store/guarded-store.ts.)
 */

export function guardRepositories(part: Repositories, guard: Guard): Repositories {
  return { find: async (name) => await guarded(guard, 'find', () => part.find(name), isRepositoryOrNothing) }
}

export function guardAuthenticator(part: Authenticator, guard: Guard): Authenticator {
  return { authenticate: async (token) => await guarded(guard, 'authenticate', () => part.authenticate(token), isIdentityOrNothing) }
}

export function guardAccessPolicy(part: AccessPolicy, guard: Guard): AccessPolicy {
  return { access: async (user, repository) => await guarded(guard, 'access', () => part.access(user, repository), isAccess) }
}

export function guardFailureBudget(part: FailureBudget, guard: Guard): FailureBudget {
  return {
    retryAfter: async (address) => Math.ceil(await guarded(guard, 'retryAfter', () => part.retryAfter(address), isSeconds)),
    // A host's method that only counts need not answer.
    recordFailure: async (address) => Math.ceil((await guarded(guard, 'recordFailure', () => part.recordFailure(address), isSecondsOrNothing)) ?? 0),
  }
}

/** A logger that never throws: a log line that is lost must not cost an answer. */
export function guardLogger(part: Logger): Logger {
  const line =
    (level: keyof Logger) =>
    (facts: object, message: string): void => {
      try {
        const write: (facts: object, message: string) => unknown = part[level].bind(part)
        atOnce(write(facts, message))
      } catch {
        // There is nowhere left to say it.
      }
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** A clock that always tells a time: the system's, when the part tells none. */
export function guardClock(part: Clock, logger: Logger): Clock {
  return {
    now() {
      try {
        const now = atOnce(part.now())
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
  return hasMembers(answer, 'directory', 'public') && typeof answer.directory === 'string' && isAbsolute(answer.directory) && typeof answer.public === 'boolean'
}

function isIdentityOrNothing(answer: unknown): answer is Identity | undefined {
  if (answer === undefined) return true
  if (!hasMembers(answer, 'user', 'scopes') || typeof answer.user !== 'string' || answer.user === '') return false
  return Array.isArray(answer.scopes) && answer.scopes.every((scope) => typeof scope === 'string')
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
