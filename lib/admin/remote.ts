import { request, type IncomingMessage, type RequestListener } from 'node:http'
import getRawBody from 'raw-body'
import type { Logger } from '../logger.js'
import { AdministrationError, type Administration } from './administration.js'
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
  'listStatuses',
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

/** Serves an administration to the processes that can open its socket. */
export function administrationListener(administration: Administration, logger: Logger): RequestListener {
  return (incoming, response) => {
    void reply(administration, incoming, logger).then((answer) => {
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify(answer))
    })
  }
}

async function reply(administration: Administration, incoming: IncomingMessage, logger: Logger): Promise<Reply> {
  try {
    const call: unknown = JSON.parse(await getRawBody(incoming, { limit: MOST_CALL_BYTES, encoding: 'utf8' }))
    if (!isCall(call)) return { refused: 'the running service does not know this command; is it of another version?' }
    const method: (...args: never[]) => unknown = administration[call.method].bind(administration)
    const result: unknown = await Reflect.apply(method, undefined, call.args)
    return { result: result ?? null }
  } catch (error) {
    if (error instanceof AdministrationError) return { refused: error.message }
    logger.error({ err: error }, 'a command failed')
    return { failed: error instanceof Error ? error.message : String(error) }
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

/**
 * The administration of a running service, through its socket.
 * All methods reject with `NoService` when no service answers there.
 */
export function remoteAdministration(path: string): Administration {
  const call = async (method: Method, args: readonly unknown[]): Promise<unknown> => {
    const answer: unknown = JSON.parse(await post(path, JSON.stringify({ method, args } satisfies Call)))
    if (typeof answer !== 'object' || answer === null) throw new Error('the running service gave no answer')
    if ('refused' in answer) throw new AdministrationError(String(answer.refused))
    if ('failed' in answer) throw new Error(String(answer.failed))
    return 'result' in answer ? answer.result : undefined
  }
  const methods = METHODS.map((method) => [method, async (...args: unknown[]) => await call(method, args)])
  // The service at the other end is this same program, and its types are those of `Administration`.
  return Object.fromEntries(methods) as Administration // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion
}

async function post(path: string, body: string): Promise<string> {
  return await withShortPath(path, async (socketPath) => {
    const outgoing = request({ socketPath, method: 'POST', headers: { 'Content-Type': 'application/json' } })
    outgoing.end(body)
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve).on('error', (cause) => {
        reject(isNobody(cause) ? new NoService(`no service answers at ${path}`, { cause }) : cause)
      })
    })
    return await getRawBody(incoming, { encoding: 'utf8' })
  })
}

/** Nobody listens, so nothing has been done; any other error leaves that open. */
function isNobody(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTDIR')
}
