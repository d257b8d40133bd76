import { once } from 'node:events'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { dirname } from 'node:path'
import { AdministrationError, ArgumentError, failureMessage } from '../errors.js'
import { logErrors, stop } from '../http/listening.js'
import type { Logger } from '../contracts/logger.js'
import { runTask, type Task, type TaskStep } from '../concurrency/task.js'
import type { Administration } from './administration.js'
import { linesOf } from './ndjson.js'
import { isCall, messageLine, METHODS } from './protocol.js'
import { socketPath, withShortPath } from './socket-path.js'

/**
 * Opens the socket that commands reach a service by, which only the owner of the store can open. A service without it
 * still serves, so a failure is only logged.
 * @param folder of the store, which this process has open
 * @returns closes it: commands under way may come to their end, for `seconds`
 */
export async function openSocket(
  administration: Administration,
  folder: string,
  logger: Logger,
): Promise<(seconds: number) => Promise<void>> {
  const path = socketPath(folder)
  // However long it takes to send what is to be imported.
  const server = createServer({ requestTimeout: 0 }, administrationListener(administration, logger))
  // Whoever embeds the service may have nothing else that keeps its process alive, and then it should end.
  server.unref()
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await chmod(dirname(path), 0o700)
    // We hold the store: whoever left a socket here is gone.
    await rm(path, { force: true })
    await withShortPath(path, async (short) => {
      server.listen(short)
      await once(server, 'listening')
    })
    logErrors(server, logger)
    await chmod(path, 0o600)
  } catch (error) {
    logger.warn({ err: error, path }, 'commands cannot reach this service: its socket could not be opened')
  }
  return async (seconds) => {
    if (!server.listening) return
    await stop(server, seconds)
    await rm(path, { force: true })
  }
}

/** Serves an administration to the processes that can open its socket. A long task ends when its client goes away. */
export function administrationListener(administration: Administration, logger: Logger): RequestListener {
  return (incoming, response) => {
    // At once, so that whoever asks can tell a long command from a service that hangs.
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders()
    const gone = new AbortController()
    response.on('close', () => {
      gone.abort()
    })
    const send = async (step: TaskStep<unknown>): Promise<void> => {
      gone.signal.throwIfAborted()
      if (!response.write(messageLine(step))) await once(response, 'drain', { signal: gone.signal })
    }
    void perform(administration, linesOf(incoming), send)
      .then((result) => messageLine({ result: result ?? null }))
      .catch((error: unknown) => {
        if (error instanceof ArgumentError) return messageLine({ wrong: error.message })
        if (error instanceof AdministrationError) return messageLine({ refused: error.message })
        if (gone.signal.aborted) logger.info({}, 'a command was interrupted')
        else logger.error({ err: error }, 'a command failed')
        return messageLine({ failed: failureMessage(error) })
      })
      .then((last) => response.end(last))
  }
}

async function perform(
  administration: Administration,
  lines: AsyncGenerator<string>,
  send: (step: TaskStep<unknown>) => Promise<void>,
): Promise<unknown> {
  const first = await lines.next()
  const call: unknown = JSON.parse(first.done ? '' : first.value)
  if (!isCall(call)) {
    throw new AdministrationError('the running service does not know this command; is it of another version?')
  }
  const { method, args } = call
  const asked: (...args: never[]) => unknown = administration[method].bind(administration)
  const answer: unknown = Reflect.apply(asked, undefined, METHODS[method] === 'import' ? [lines, ...args] : args)
  return isTask(answer) ? await runTask(answer, send) : await answer
}

function isTask(answer: unknown): answer is Task<unknown, unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
}
