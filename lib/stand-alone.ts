import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { STATUS_CODES, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { dirname } from 'node:path'
import { pino } from 'pino'
import { LocalAdministration } from './admin/administration.js'
import { administrationListener } from './admin/remote.js'
import { socketPath, withShortPath } from './admin/socket-path.js'
import { systemClock, type Clock } from './clock.js'
import { createCommitStatusService, type CommitStatusService } from './commit-status-service.js'
import { ServiceError, type ErrorCode } from './errors.js'
import { Exchange, refusal } from './http/answer.js'
import type { Logger } from './logger.js'
import { reasonOf } from './reason.js'
import type { Settings } from './settings.js'
import { StartError } from './start-error.js'
import { levelFolder } from './store/open-store.js'

/** Time-outs of a public socket. A proxy in front keeps idle connections for 60 s or so: ours must last longer. */
const HEADERS_MILLISECONDS = 10_000
const REQUEST_MILLISECONDS = 30_000
const KEEP_ALIVE_MILLISECONDS = 75_000

/** How long requests under way may take to finish once a server is told to stop: whoever stopped us may kill us 10 s later. */
const CLOSE_MILLISECONDS = 4_000

/** A service with a server of its own. */
export interface StandAlone {
  /** `http://host:port` */
  readonly url: string
  /** Stops accepting, finishes what runs, closes the store. */
  close(): Promise<void>
}

/**
 * Starts a service of its own: the one place in `lib/` that listens.
 * @param parts what takes the place of the log on standard output and of the system's clock
 * @throws StartError when the address is taken or the repositories folder is missing; StoreLocked, StoreUnavailable
 */
export async function startStandAlone(settings: Settings, parts: { logger?: Logger; clock?: Clock } = {}): Promise<StandAlone> {
  const { logger = createLogger(settings.logLevel), clock = systemClock } = parts
  const { repositories, store, trustedProxies, tokenPrefix, authFailures } = settings
  const service = await createCommitStatusService({ repositories, store, trustedProxies, tokenPrefix, authFailures, logger, clock })
  const server = createServer({
    headersTimeout: HEADERS_MILLISECONDS,
    requestTimeout: REQUEST_MILLISECONDS,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    // Refused below, with the error body.
    requireHostHeader: false,
  })
  // node:http would drop the lines past the thousandth in silence, credentials and X-Forwarded-For among them.
  server.maxHeadersCount = 0
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // A server that stops closes what is idle then; the connections of requests under way are idle only after them.
    response.on('close', () => {
      if (!server.listening) server.closeIdleConnections()
    })
    if (!server.listening) response.shouldKeepAlive = false
    const refused = !server.listening ? 'shutting_down' : hasOneHost(request) ? undefined : 'malformed_request'
    if (refused) void new Exchange(request, response, logger).answer(() => refusal(new ServiceError(refused)))
    else service.handler(request, response)
  }
  server.on('request', listener)
  // An expectation that nobody knows is passed over (RFC 9110, 10.1.1); node:http would refuse it without the error body.
  server.on('checkExpectation', listener)
  server.on('clientError', refuseUnparsed)
  try {
    server.listen(settings.port, settings.host)
    await once(server, 'listening')
  } catch (cause) {
    await service.close()
    throw new StartError(`cannot listen on ${settings.host}, port ${settings.port}: ${reasonOf(cause)}; the settings host and port (COMMIT_STATUS_HOST, COMMIT_STATUS_PORT) say where`, { cause })
  }
  const closeSocket = await openSocket(service, levelFolder(settings.store), logger)
  const { address, family, port } = server.address() as AddressInfo // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- it listens on a port

  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      await Promise.all([stop(server), closeSocket()])
      await service.close()
    },
  }
}

/** Lines of JSON on standard output; without process id and host name, which whoever collects the lines knows. */
function createLogger(level: string): Logger {
  return pino({ level, base: null })
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const deadline = setTimeout(() => {
    server.closeAllConnections()
  }, CLOSE_MILLISECONDS)
  await closed
  clearTimeout(deadline)
}

/** Opens the owner-only socket of the commands; a service without one still serves, so a failure is only logged. */
async function openSocket(service: CommitStatusService, folder: string, logger: Logger): Promise<() => Promise<void>> {
  const path = socketPath(folder)
  const server = createServer(administrationListener(new LocalAdministration(service.administered), logger))
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await chmod(dirname(path), 0o700)
    // We hold the store: whoever left a socket here is gone.
    await rm(path, { force: true })
    await withShortPath(path, async (short) => {
      server.listen(short)
      await once(server, 'listening')
    })
    await chmod(path, 0o600)
  } catch (error) {
    logger.warn({ err: error, path }, 'commands cannot reach this service: its socket could not be opened')
  }
  return async () => {
    if (!server.listening) return
    await stop(server)
    await rm(path, { force: true })
  }
}

/** What HTTP/1.1 asks for (RFC 9112, 3.2). */
function hasOneHost({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  return httpVersion !== '1.1' || headersDistinct['host']?.length === 1
}

/** What node:http could not parse has no request to answer to, yet every answer has the error body. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const codes = new Map<string | undefined, ErrorCode>([['HPE_HEADER_OVERFLOW', 'headers_too_large'], ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout']])
  const { status, message } = new ServiceError(codes.get(error.code) ?? 'malformed_request')
  const body = JSON.stringify({ error: message })
  const headers = [
    `HTTP/1.1 ${status} ${String(STATUS_CODES[status])}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${randomUUID()}`,
  ]
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}
