import type { Task, TaskStep } from '../concurrency/task.js'
import type { Administration } from './administration.js'

/*
 * How commands call the administration of a running service over its socket: `POST /`, with a body of lines of JSON,
 * answered with lines of JSON. The first line of a body is a call; what follows are lines that it takes. Neither side
 * sends faster than the other takes.
 */

/** What each method is: answered at once, a long task, or one that takes lines besides. */
type Kind<Method> = Method extends (...args: never[]) => Task<infer _, infer _> ? 'task' | 'import' : 'call'

/** Every method that may be called; the type sees that none is forgotten. */
export const METHODS = {
  createToken: 'call',
  listTokens: 'call',
  revokeToken: 'call',
  createSignIn: 'call',
  endSignIns: 'call',
  createHook: 'call',
  listHooks: 'call',
  deleteHook: 'call',
  pauseHook: 'call',
  resumeHook: 'call',
  testHook: 'call',
  listDeliveries: 'call',
  resendDeliveries: 'task',
  rotateSecret: 'call',
  notePush: 'call',
  grantAccess: 'call',
  revokeAccess: 'call',
  listAccess: 'call',
  accessSource: 'call',
  checkAccess: 'call',
  listRepositories: 'call',
  setVisibility: 'call',
  countRepository: 'call',
  renameRepository: 'call',
  deleteRepository: 'call',
  deleteStatuses: 'call',
  listStatuses: 'task',
  listCommits: 'task',
  storeStatistics: 'task',
  exportStore: 'task',
  importStore: 'import',
  pruneStore: 'task',
  verifyStore: 'task',
  backUpStore: 'task',
} as const satisfies { readonly [Name in keyof Administration]: Kind<Administration[Name]> }

export type MethodName = keyof typeof METHODS

export interface MethodCall {
  readonly method: MethodName
  readonly args: readonly unknown[]
}

/**
 * The last line of an answer; before it come the steps of a long task. `wrong`: an ArgumentError; `refused`: another
 * AdministrationError; `failed`: anything else, whose cause is in the service's log.
 */
export type Reply =
  { readonly result: unknown } | { readonly wrong: string } | { readonly refused: string } | { readonly failed: string }

export function isMethodName(name: unknown): name is MethodName {
  return typeof name === 'string' && Object.hasOwn(METHODS, name)
}

export function isCall(call: unknown): call is MethodCall {
  if (typeof call !== 'object' || call === null || !('method' in call) || !('args' in call)) return false
  return isMethodName(call.method) && Array.isArray(call.args)
}

export function isMessage(message: unknown): message is TaskStep<unknown> | Reply {
  const members = ['items', 'progress', 'result', 'wrong', 'refused', 'failed']
  return typeof message === 'object' && message !== null && members.some((name) => name in message)
}

export function messageLine(message: MethodCall | TaskStep<unknown> | Reply): string {
  return `${JSON.stringify(message)}\n`
}
