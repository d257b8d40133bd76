import { request, type IncomingMessage, type RequestListener } from 'node:http'
import getRawBody from 'raw-body'
import type { Logger } from '../logger.js'
import { reasonOf } from '../reason.js'
import { AdministrationError } from './administration-error.js'
import type { Administration } from './administration.js'
import { withShortPath } from './socket-path.js'

/** What may be called over the socket. */
const METHODS = [
  'createToken',
  'listTokens',
  'revokeToken',
  'grantAccess',
  'revokeAccess',
  'listAccess',
  'listRepositories',
  'setVisibility',
  'countRepository',
  'renameRepository',
  'deleteRepository',
  'latestCommits',
  'deleteStatuses',
  'listStatuses',
  'verifyStore',
  'backUpStore',
] as const satisfies (keyof Administration)[]

type Method = (typeof METHODS)[number]

/** A call as it crosses the socket: `POST /`, answered with `Reply`. */
interface Call {
  readonly method: Method
  readonly args: readonly unknown[]
}

/** `refused`: an AdministrationError; `failed`: anything else, whose cause is in the service's log. */
type Reply = { readonly result: unknown } | { readonly refused: string } | { readonly failed: string }

const MOST_CALL_BYTES = 1024 * 1024

/** How long a service may take to notice a call; how long it then works on it is not limited. */
const NOTICE_MILLISECONDS = 5_000

/** Serves an administration to the processes that can open its socket. */
export function administrationListener(administration: Administration, logger: Logger): RequestListener {
  return (incoming, response) => {
    // At once, so that whoever asks can tell a long command from a service that hangs.
    response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders()
    void reply(administration, incoming, logger).then((answer) => response.end(answer))
  }
}

/** The reply as it is sent. Never rejects, not even when it is longer than a string may be. */
async function reply(administration: Administration, incoming: IncomingMessage, logger: Logger): Promise<string> {
  try {
    return JSON.stringify(await perform(administration, incoming, logger))
  } catch (error) {
    logger.error({ err: error }, 'the reply to a command could not be made')
    return JSON.stringify({ failed: reasonOf(error) } satisfies Reply)
  }
}

async function perform(administration: Administration, incoming: IncomingMessage, logger: Logger): Promise<Reply> {
  try {
    const call: unknown = JSON.parse(await getRawBody(incoming, { limit: MOST_CALL_BYTES, encoding: 'utf8' }))
    if (!isCall(call)) return { refused: 'the running service does not know this command; is it of another version?' }
    const method: (...args: never[]) => unknown = administration[call.method].bind(administration)
    const result: unknown = await Reflect.apply(method, undefined, call.args)
    return { result: result ?? null }
  } catch (error) {
    if (error instanceof AdministrationError) return { refused: error.message }
    logger.error({ err: error }, 'a command failed')
    return { failed: reasonOf(error) }
  }
}

function isCall(call: unknown): call is Call {
  if (typeof call !== 'object' || call === null || !('method' in call) || !('args' in call)) return false
  return METHODS.some((method) => method === call.method) && Array.isArray(call.args)
}

/** No service answers at a socket. */
export class NoService extends Error {
  override readonly name = 'NoService'
}

/** The running service did not do what was asked, or did not say so; the message is for the admin. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/**
 * The administration of a running service, through its socket.
 * All methods reject with `NoService` when no service listens there, and with `CommandFailed` when it fails.
 */
export function remoteAdministration(path: string, noticeMilliseconds = NOTICE_MILLISECONDS): Administration {
  const call = async (method: Method, args: readonly unknown[]): Promise<unknown> => {
    const answer = await post(path, { method, args }, noticeMilliseconds)
    if ('refused' in answer) throw new AdministrationError(answer.refused)
    if ('failed' in answer) throw new CommandFailed(answer.failed)
    return answer.result
  }
  const methods = METHODS.map((method) => [method, async (...args: unknown[]) => await call(method, args)])
  // The service at the other end is this same program, and its types are those of `Administration`.
  return Object.fromEntries(methods) as Administration // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion
}

async function post(path: string, call: Call, timeout: number): Promise<Reply> {
  return await withShortPath(path, async (socketPath) => {
    const outgoing = request({ socketPath, agent: false, method: 'POST', timeout })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing came within ${timeout / 1000} s`)))
    try {
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.on('response', resolve).on('error', reject).end(JSON.stringify(call))
      })
      outgoing.setTimeout(0)
      const answer: unknown = JSON.parse(await getRawBody(incoming, { encoding: 'utf8' }))
      if (isReply(answer)) return answer
      throw new Error('it is no reply')
    } catch (cause) {
      throw inWords(path, cause)
    }
  })
}

function isReply(answer: unknown): answer is Reply {
  return typeof answer === 'object' && answer !== null && ('result' in answer || 'refused' in answer || 'failed' in answer)
}

function inWords(path: string, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  // Nobody listens, so nothing has been done.
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') return new NoService(`no service answers at ${path}`, { cause })
  /* c8 ignore next -- root, as whom the specs run in CI, has every permission */
  if (code === 'EACCES') return new CommandFailed(`no permission to use ${path}: run this as the user of the service`, { cause })
  return new CommandFailed(`the service at ${path} gave no answer (${reasonOf(cause)}); whether it did what was asked is not known`, { cause })
}
