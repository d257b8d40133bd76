import { request, type ClientRequest } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { AdministrationError, ArgumentError, errorMessage } from '../errors.js'
import { runTask, type Task } from '../concurrency/task.js'
import type { Administration } from './administration.js'
import { linesOf } from './ndjson.js'
import { isMessage, isMethodName, messageLine, METHODS, type MethodCall } from './protocol.js'
import { withShortPath } from './socket-path.js'

/** How long a service may take to notice a call; how long it then works on it is not limited. */
const NOTICE_MILLISECONDS = 5_000

/** No service answers at a socket. */
export class ServiceNotRunning extends Error {
  override readonly name = 'ServiceNotRunning'
}

/** The running service did not do what was asked, or did not say so; the message is for the admin. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/**
 * The administration of a running service, through its socket. To leave a task, or to end this process, ends it there
 * too.
 * All methods reject with `ServiceNotRunning` when no service listens there, and with `CommandFailed` when it fails.
 */
export function remoteAdministration(path: string, noticeMilliseconds = NOTICE_MILLISECONDS): Administration {
  const methods = Object.keys(METHODS)
    .filter(isMethodName)
    .map((method) => {
      const answer = (args: readonly unknown[], input?: AsyncIterable<string>): Task<unknown, unknown> =>
        exchange(path, { method, args }, noticeMilliseconds, input)
      const ways = {
        call: async (...args: unknown[]) => await runTask(answer(args), () => undefined),
        task: (...args: unknown[]) => answer(args),
        import: (lines: AsyncIterable<string>, ...args: unknown[]) => answer(args, lines),
      }
      return [method, ways[METHODS[method]]]
    })
  // The service at the other end is this same program, and its types are those of `Administration`.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion
  return Object.fromEntries(methods) as Administration
}

/** Sends a call, then `input` as fast as it is taken; gives the steps of the answer, and its result. */
async function* exchange(
  path: string,
  call: MethodCall,
  timeout: number,
  input?: AsyncIterable<string>,
): Task<unknown, unknown> {
  let outgoing: ClientRequest | undefined
  let broken: { readonly cause: unknown } | undefined
  try {
    const connection = await connect(path, call, timeout, input !== undefined)
    outgoing = connection.outgoing
    if (input) {
      pipeline(Readable.from(withEnds(input, (cause) => (broken = { cause }))), outgoing, () => undefined)
    }
    for await (const line of connection.lines) {
      const message: unknown = JSON.parse(line)
      if (!isMessage(message)) throw new Error('it is no reply')
      if ('wrong' in message) throw new ArgumentError(message.wrong)
      if ('refused' in message) throw new AdministrationError(message.refused)
      if ('failed' in message) throw new CommandFailed(message.failed)
      if ('result' in message) return message.result
      yield message
    }
    throw new Error('it was cut off')
  } catch (error) {
    // What is wrong with the input is no fault of the service.
    if (broken) throw broken.cause
    throw error instanceof AdministrationError || error instanceof CommandFailed
      ? error
      : describeConnectionError(path, error)
    /* c8 ignore next -- V8 counts a way out of the catch that there is not */
  } finally {
    outgoing?.destroy()
  }
}

async function connect(
  path: string,
  call: MethodCall,
  timeout: number,
  isBeginning: boolean,
): Promise<{ outgoing: ClientRequest; lines: AsyncGenerator<string> }> {
  return await withShortPath(path, async (socketPath) => {
    // Kept alive, or the service would close it under whatever input it has no use for, and its reply be lost.
    const outgoing = request({
      socketPath,
      agent: false,
      method: 'POST',
      timeout,
      headers: { Connection: 'keep-alive' },
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing came within ${timeout / 1000} s`)))
    const lines = await new Promise<AsyncGenerator<string>>((resolve, reject) => {
      outgoing.on('error', reject).on('response', (incoming) => {
        resolve(linesOf(incoming, { maxLength: Infinity }))
      })
      if (isBeginning) outgoing.write(messageLine(call))
      else outgoing.end(messageLine(call))
    })
    outgoing.setTimeout(0)
    return { outgoing, lines }
  })
}

async function* withEnds(lines: AsyncIterable<string>, fail: (cause: unknown) => void): AsyncGenerator<string> {
  try {
    for await (const line of lines) yield `${line}\n`
  } catch (cause) {
    fail(cause)
    throw cause
  }
}

function describeConnectionError(path: string, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  // Nobody listens, so nothing has been done.
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR')
    return new ServiceNotRunning(`no service answers at ${path}`, { cause })
  /* c8 ignore next -- root, as whom the specs run in CI, has every permission */
  if (code === 'EACCES')
    return new CommandFailed(`no permission to use ${path}: run this as root or as the user of the service`, { cause })
  return new CommandFailed(
    `the service at ${path} gave no answer (${errorMessage(cause)}); whether it did what was asked is not known`,
    { cause },
  )
}
