import { once } from 'node:events'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { pino } from 'pino'
import { AdministrationError } from './admin/administration-error.js'
import { LocalAdministration } from './admin/local-administration.js'
import { administrationListener } from './admin/remote.js'
import { socketPath, withShortPath } from './admin/socket-path.js'
import { systemClock, type Clock } from './clock.js'
import { createCommitStatusService, type CommitStatusService } from './commit-status-service.js'
import type { Handler } from './http/handler.js'
import { metricsHandler } from './http/metrics.js'
import { HttpServer, logErrors, stop } from './http/server.js'
import type { Logger } from './logger.js'
import { reasonOf } from './reason.js'
import type { Settings } from './settings.js'
import { StartError } from './start-error.js'
import { levelFolder } from './store/address.js'

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
  const { repositories, store, trustedProxies, tokenPrefix, authFailures, limits } = settings
  const metrics = settings.metrics !== 'off'
  const service = await createCommitStatusService({ repositories, store, trustedProxies, tokenPrefix, authFailures, limits: { requests: limits.requests }, metrics, logger, clock })
  let listening: AddressInfo
  let servers: readonly HttpServer[]
  try {
    ;({ listening, servers } = await listen(service, settings, logger))
  } catch (error) {
    await service.close()
    throw error
  }
  const closeSocket = await openSocket(service, settings, logger)
  const { address, family, port } = listening

  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      await Promise.all([...servers.map(async (server) => await server.close()), closeSocket()])
      await service.close()
    },
  }
}

/** @throws StartError, and then nothing listens */
async function listen(service: CommitStatusService, { host, port, metrics, limits }: Settings, logger: Logger): Promise<{ listening: AddressInfo; servers: HttpServer[] }> {
  const { handler, meter } = service
  const measured = service.metrics && metricsHandler({ metrics: service.metrics, logger, meter })
  const both = measured && metrics === 'main' ? beside(measured, handler) : undefined
  const main = new HttpServer(both ?? handler, limits, logger, meter)
  const apart = measured && !both ? new HttpServer(measured, limits, logger, meter) : undefined
  if (apart) {
    const colon = metrics.lastIndexOf(':')
    const [name, number] = [metrics.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), metrics.slice(colon + 1)]
    const { address, port } = await apart.listen(Number(number), name).catch(refused(name, number, 'the setting metrics (COMMIT_STATUS_METRICS) says'))
    logger.info({ address, port }, 'metrics are served')
  }
  try {
    const listening = await main.listen(port, host).catch(refused(host, port, 'the settings host and port (COMMIT_STATUS_HOST, COMMIT_STATUS_PORT) say'))
    return { listening, servers: apart ? [main, apart] : [main] }
  } catch (error) {
    await apart?.close()
    throw error
  }
}

/** What the first one does not answer, the second does. */
function beside(first: Handler, second: Handler): Handler {
  return (request, response) => {
    first(request, response, () => {
      second(request, response)
    })
  }
}

function refused(host: string, port: number | string, setting: string): (cause: unknown) => never {
  return (cause) => {
    throw new StartError(`cannot listen on ${host}, port ${port}: ${reasonOf(cause)}; ${setting} where`, { cause })
  }
}

/** Lines of JSON on standard output; without process id and host name, which whoever collects the lines knows. */
function createLogger(level: string): Logger {
  return pino({ level, base: null })
}

/** Opens the owner-only socket of the commands; a service without one still serves, so a failure is only logged. */
async function openSocket(service: CommitStatusService, { store, limits }: Settings, logger: Logger): Promise<() => Promise<void>> {
  const folder = levelFolder(store)
  // Of a database each command makes its own connection.
  if (folder === undefined) return () => Promise.resolve()
  const path = socketPath(folder)
  const stopping = new AbortController()
  const administration = new LocalAdministration({ ...service.administered, stopping: stopping.signal })
  // However long it takes to send what is to be imported.
  const server = createServer({ requestTimeout: 0 }, administrationListener(administration, logger))
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
  return async () => {
    if (!server.listening) return
    stopping.abort(new AdministrationError('the service was told to stop'))
    await stop(server, limits.closeSeconds)
    await rm(path, { force: true })
  }
}
