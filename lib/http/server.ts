import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { STATUS_CODES, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { ServiceError, type ErrorCode } from '../errors.js'
import type { Logger } from '../logger.js'
import { idleMeter, type Meter } from '../meter.js'
import { Exchange, refusal } from './answer.js'
import { Connection, ListenedResponse } from './connection.js'
import type { Handler } from './handler.js'
import { headerValues } from './header-values.js'

/** What clients may take of a server; the settings of the same names say what each means. */
export interface ServerLimits {
  readonly connections: number
  readonly headersSeconds: number
  readonly requestSeconds: number
  readonly responseSeconds: number
  readonly keepAliveSeconds: number
  readonly headerBytes: number
  readonly unsentBytes: number
  readonly closeSeconds: number
}

/** How often it is looked whether time-outs are over and who takes no answers. */
const CHECK_MILLISECONDS = 1_000

/** A server for a public socket: a handler, and the limits that keep its clients from each other. */
export class HttpServer {
  readonly #server: Server<typeof IncomingMessage, typeof ListenedResponse>
  readonly #connections = new Map<Socket, Connection>()
  readonly #limits: ServerLimits
  readonly #logger: Logger
  #checks: NodeJS.Timeout | undefined
  /** Connections that were too many since the last check. */
  #dropped = 0

  constructor(handler: Handler, limits: ServerLimits, logger: Logger, meter: Meter = idleMeter) {
    this.#limits = limits
    this.#logger = logger
    const server = createServer({
      ServerResponse: ListenedResponse,
      // Headers are part of the request, and node:http wants it so.
      headersTimeout: Math.min(limits.headersSeconds, limits.requestSeconds) * 1000,
      requestTimeout: limits.requestSeconds * 1000,
      keepAliveTimeout: limits.keepAliveSeconds * 1000,
      connectionsCheckingInterval: CHECK_MILLISECONDS,
      maxHeaderSize: limits.headerBytes,
      // Refused below, with the error body.
      requireHostHeader: false,
    })
    this.#server = server
    // node:http would drop the lines past the thousandth in silence, credentials and X-Forwarded-For among them.
    server.maxHeadersCount = 0
    server.maxConnections = limits.connections
    // While a request is under way, on connections where nothing moves.
    server.timeout = limits.responseSeconds * 1000
    // Called when the server is closed; its own would destroy connections together with requests nobody has read yet.
    server.closeIdleConnections = () => undefined

    const listener = (request: IncomingMessage, response: ListenedResponse) => this.#connections.get(request.socket)?.take(request, response)
    const begin = (request: IncomingMessage, response: ServerResponse) => {
      if (hasOneHost(request)) handler(request, response)
      else void new Exchange(request, response, 'other', { logger, meter }).answer(() => refusal(new ServiceError('malformed_request')))
    }
    server.on('connection', (socket) => {
      this.#connections.set(socket, new Connection(socket, begin))
      socket.on('close', () => this.#connections.delete(socket))
    })
    server.on('drop', () => this.#dropped++)
    server.on('request', listener)
    // node:http would invite the body itself, before anything is checked.
    server.on('checkContinue', listener)
    // An expectation that nobody knows is passed over (RFC 9110, 10.1.1); node:http would refuse it without the error body.
    server.on('checkExpectation', listener)
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ECONNRESET') socket.destroy()
      else {
        const refused = new ServiceError(unparsed.get(error.code) ?? 'malformed_request')
        meter.requestAnswered('other', refused.status, 0)
        this.#connections.get(socket)?.refuse(bytesOf(refused))
      }
    })
  }

  /** Resolves once it listens; rejects when it cannot. */
  async listen(port: number, host: string): Promise<AddressInfo> {
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
    logErrors(this.#server, this.#logger)
    this.#checks = setInterval(() => {
      this.#check()
    }, CHECK_MILLISECONDS).unref()
    return this.#server.address() as AddressInfo // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- it listens on a port
  }

  /**
   * Stops accepting connections, answers the requests that have arrived, the last on each connection with
   * `Connection: close`, and ends the connections. What has not come to its end after `closeSeconds` is cut off.
   */
  async close(): Promise<void> {
    const closed = stop(this.#server, this.#limits.closeSeconds)
    // What clients have sent by now is read before the connections without a request are closed.
    await setImmediate()
    await setImmediate()
    for (const connection of this.#connections.values()) connection.close()
    await closed
    clearInterval(this.#checks)
  }

  #check(): void {
    if (this.#dropped > 0) this.#logger.warn({ limit: this.#limits.connections, closed: this.#dropped }, 'too many connections: those above the limit are closed at once')
    this.#dropped = 0
    const unsent = [...this.#connections.values()].map((connection) => ({ connection, bytes: connection.unsentBytes, since: connection.unsentSince() }))
    let total = unsent.reduce((sum, { bytes }) => sum + bytes, 0)
    if (total <= this.#limits.unsentBytes) return
    this.#logger.warn({ limit: this.#limits.unsentBytes, bytes: total }, 'too many answers wait for slow clients: the slowest are cut off')
    for (const { connection, bytes } of unsent.filter(({ bytes }) => bytes > 0).sort((one, other) => one.since - other.since)) {
      if (total > this.#limits.unsentBytes / 2) {
        connection.cut()
        total -= bytes
      }
    }
  }
}

/** What befalls a server that listens, no more files for a connection above all, must not end the process. */
export function logErrors(server: Server, logger: Logger): void {
  /* c8 ignore next 3 -- it takes a system without a free file, and then some luck: spec/faults/http-files.test.ts, in another process */
  server.on('error', (error) => {
    logger.error({ err: error }, 'a connection could not be accepted')
  })
}

/** Closes a server: what is under way may come to its end, until the deadline. */
export async function stop(server: Server, seconds: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const deadline = setTimeout(() => {
    server.closeAllConnections()
  }, seconds * 1000)
  await closed
  clearTimeout(deadline)
}

/** What HTTP/1.1 asks for (RFC 9112, 3.2). */
function hasOneHost(request: IncomingMessage): boolean {
  return request.httpVersion !== '1.1' || headerValues(request, 'host').length === 1
}

const unparsed = new Map<string | undefined, ErrorCode>([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])

/** What node:http could not parse has no request to answer to, yet every answer has the error body. */
function bytesOf({ status, message }: ServiceError): string {
  const body = JSON.stringify({ error: message })
  const headers = [
    `HTTP/1.1 ${status} ${String(STATUS_CODES[status])}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${randomUUID()}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}
