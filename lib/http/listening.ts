import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Logger } from '../contracts/logger.js'

/** What befalls a server that listens, no more files for a connection above all, must not end the process. */
export function logErrors(server: Server, logger: Logger): void {
  /* c8 ignore next 3 -- it takes a system without a free file: spec/faults/http-files.test.ts, in another process */
  server.on('error', (error) => {
    logger.error({ err: error }, 'a connection could not be accepted')
  })
}

/** Graceful shutdown of a server: what is under way may come to its end, until the deadline. */
export async function stop(server: Server, seconds: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const deadline = setTimeout(() => {
    server.closeAllConnections()
  }, seconds * 1000)
  await closed
  clearTimeout(deadline)
}
