import { once } from 'node:events'
import { request, type ClientRequest, type RequestListener } from 'node:http'
import { Readable, pipeline } from 'node:stream'
import { linesOf } from '../lines.js'
import type { Logger } from '../logger.js'
import { reasonOf } from '../reason.js'
import { carryOut, type Step, type Work } from '../work.js'
import { AdministrationError } from './administration-error.js'
import type { Administration } from './administration.js'
import { Pace } from './pace.js'
import { withShortPath } from './socket-path.js'

/** What may be called over the socket, and is answered at once. */
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
  'deleteStatuses',
] as const satisfies (keyof Administration)[]

/** What may be called, and is long work. */
const WORKS = ['listStatuses', 'latestCommits', 'storeStatistics', 'exportStore', 'pruneStore', 'verifyStore', 'backUpStore'] as const satisfies (keyof Administration)[]

/**
 * A call as it crosses the socket: the first line of the body of `POST /`. What follows are lines that it takes.
 * Both bodies are lines of JSON, and neither side sends faster than the other takes.
 */
interface Call {
  readonly method: (typeof METHODS)[number] | (typeof WORKS)[number] | 'importStore'
  readonly args: readonly unknown[]
}

/** The last line of an answer; before it come the steps of long work. `refused`: an AdministrationError; `failed`: anything else, whose cause is in the service's log. */
type Reply = { readonly result: unknown } | { readonly refused: string } | { readonly failed: string }

/** How long a service may take to notice a call; how long it then works on it is not limited. */
const NOTICE_MILLISECONDS = 5_000

/** Serves an administration to the processes that can open its socket. Work ends when its client goes away. */
export function administrationListener(administration: Administration, logger: Logger): RequestListener {
  return (incoming, response) => {
    // At once, so that whoever asks can tell a long command from a service that hangs.
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders()
    const gone = new AbortController()
    response.on('close', () => {
      gone.abort()
    })
    const pace = new Pace()
    const send = async (step: Step<unknown>): Promise<void> => {
      gone.signal.throwIfAborted()
      if (!response.write(lineOf(step))) await once(response, 'drain', { signal: gone.signal })
      await pace.rest()
    }
    void perform(administration, linesOf(incoming), send)
      .then((result) => lineOf({ result: result ?? null } satisfies Reply))
      .catch((error: unknown) => {
        if (error instanceof AdministrationError) return lineOf({ refused: error.message } satisfies Reply)
        if (gone.signal.aborted) logger.info({}, 'a command was interrupted')
        else logger.error({ err: error }, 'a command failed')
        return lineOf({ failed: reasonOf(error) } satisfies Reply)
      })
      .then((last) => response.end(last))
  }
}

async function perform(administration: Administration, lines: AsyncGenerator<string>, send: (step: Step<unknown>) => Promise<void>): Promise<unknown> {
  const first = await lines.next()
  const call: unknown = JSON.parse(first.done ? '' : first.value)
  if (!isCall(call)) throw new AdministrationError('the running service does not know this command; is it of another version?')
  const asked: (...args: never[]) => unknown = administration[call.method].bind(administration)
  const answer: unknown = Reflect.apply(asked, undefined, call.method === 'importStore' ? [lines, ...call.args] : call.args)
  return isWork(answer) ? await carryOut(answer, send) : await answer
}

function isWork(answer: unknown): answer is Work<unknown, unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
}

function isCall(call: unknown): call is Call {
  if (typeof call !== 'object' || call === null || !('method' in call) || !('args' in call)) return false
  return [...METHODS, ...WORKS, 'importStore'].some((method) => method === call.method) && Array.isArray(call.args)
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
 * The administration of a running service, through its socket. To leave work, or to end this process, ends it there too.
 * All methods reject with `NoService` when no service listens there, and with `CommandFailed` when it fails.
 */
export function remoteAdministration(path: string, noticeMilliseconds = NOTICE_MILLISECONDS): Administration {
  const answers = (method: Call['method'], args: readonly unknown[]): Work<unknown, unknown> => exchange(path, { method, args }, noticeMilliseconds)
  const methods = METHODS.map((method) => [method, async (...args: unknown[]) => await carryOut(answers(method, args), () => undefined)])
  const works = WORKS.map((method) => [method, (...args: unknown[]) => answers(method, args)])
  const importStore = (lines: AsyncIterable<string>, ...args: unknown[]): Work<unknown, unknown> => exchange(path, { method: 'importStore', args }, noticeMilliseconds, lines)
  // The service at the other end is this same program, and its types are those of `Administration`.
  return Object.fromEntries([...methods, ...works, ['importStore', importStore]]) as Administration // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion
}

/** Sends a call, then `input` as fast as it is taken; gives the steps of the answer, and its result. */
async function* exchange(path: string, call: Call, timeout: number, input?: AsyncIterable<string>): Work<unknown, unknown> {
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
      if ('refused' in message) throw new AdministrationError(message.refused)
      if ('failed' in message) throw new CommandFailed(message.failed)
      if ('result' in message) return message.result
      yield message
    }
    throw new Error('it was cut off')
  } catch (error) {
    // What is wrong with the input is no fault of the service.
    if (broken) throw broken.cause
    throw error instanceof AdministrationError || error instanceof CommandFailed ? error : inWords(path, error)
    /* c8 ignore next -- V8 counts a way out of the catch that there is not */
  } finally {
    outgoing?.destroy()
  }
}

async function connect(path: string, call: Call, timeout: number, isBeginning: boolean): Promise<{ outgoing: ClientRequest; lines: AsyncGenerator<string> }> {
  return await withShortPath(path, async (socketPath) => {
    // Kept alive, or the service would close it under whatever input it has no use for, and its reply be lost.
    const outgoing = request({ socketPath, agent: false, method: 'POST', timeout, headers: { Connection: 'keep-alive' } })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing came within ${timeout / 1000} s`)))
    const lines = await new Promise<AsyncGenerator<string>>((resolve, reject) => {
      outgoing.on('error', reject).on('response', (incoming) => {
        resolve(linesOf(incoming, { most: Infinity }))
      })
      if (isBeginning) outgoing.write(lineOf(call))
      else outgoing.end(lineOf(call))
    })
    outgoing.setTimeout(0)
    return { outgoing, lines }
  })
}

function isMessage(message: unknown): message is Step<unknown> | Reply {
  return typeof message === 'object' && message !== null && ['items', 'progress', 'result', 'refused', 'failed'].some((name) => name in message)
}

function lineOf(message: object): string {
  return `${JSON.stringify(message)}\n`
}

async function* withEnds(lines: AsyncIterable<string>, tell: (cause: unknown) => void): AsyncGenerator<string> {
  try {
    for await (const line of lines) yield `${line}\n`
  } catch (cause) {
    tell(cause)
    throw cause
  }
}

function inWords(path: string, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  // Nobody listens, so nothing has been done.
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') return new NoService(`no service answers at ${path}`, { cause })
  /* c8 ignore next -- root, as whom the specs run in CI, has every permission */
  if (code === 'EACCES') return new CommandFailed(`no permission to use ${path}: run this as the user of the service`, { cause })
  return new CommandFailed(`the service at ${path} gave no answer (${reasonOf(cause)}); whether it did what was asked is not known`, { cause })
}
