import { assemble, type Assembled } from '../embedding/assemble.js'
import { buildInfo } from '../embedding/build-info.js'
import { errorMessage, StartError } from '../errors.js'
import { systemClock, type Clock } from '../contracts/clock.js'
import type { Logger } from '../contracts/logger.js'
import type { HandedSocket } from './handed-socket.js'
import { HttpServer } from './http-server.js'
import { createLogger } from './log.js'
import type { Settings } from './settings.js'
import { httpUrl, linkAddress, ownPages } from './sign-in.js'
import { listenAtPath, socketPathOf } from './unix-socket.js'

/** A service with a server of its own. */
export interface StandAlone {
  /** `http://host:port`, or `unix:` and the path of a socket; of one that was handed over, its name. */
  readonly url: string
  /** Stops accepting, finishes what runs, closes the store. */
  close(): Promise<void>
}

/**
 * Starts a service of its own: the one place in `lib/` that listens.
 * @param dependencies what takes the place of the log on standard output and of the system's clock
 * @param dependencies.command that administers this service, for people to copy into a shell
 * @param dependencies.handed what it listens on in place of what the settings say
 * @throws StartError when the address is taken or the repositories folder is missing; StoreLocked, StoreUnavailable
 */
export async function startStandAlone(
  settings: Settings,
  dependencies: { logger?: Logger; clock?: Clock; command?: string; handed?: HandedSocket | undefined } = {},
): Promise<StandAlone> {
  const { clock = systemClock, command, handed } = dependencies
  const logger = dependencies.logger ?? (await createLogger(settings.logLevel, process.stdout))
  const { repositories, topOwner, store, trustedProxies, tokenPrefix, authFailures, limits, cache } = settings
  const { compatibleApis, giteaHosts, publicUrl, rights, retention, hooks, mail } = settings
  const metrics = settings.metrics !== 'off'
  const pages = await ownPages(settings)
  let url = ''
  const options = {
    repositories,
    topOwner,
    store,
    trustedProxies,
    tokenPrefix,
    authFailures,
    compatibleApis,
    giteaHosts,
    publicUrl,
    limits: {
      ...{ requests: limits.requests, contexts: limits.contexts, tokens: limits.tokens },
      ...{ waits: limits.waits, waitSeconds: limits.waitSeconds },
    },
    cache,
    retention,
    hooks,
    mail,
    metrics,
    logger,
    clock,
  }
  const assembled = await assemble(options, {
    rights,
    ...(pages && { pages: { ...pages, command } }),
    signInAddress: () => linkAddress(publicUrl, url),
    servesMetrics: settings.metrics === 'main',
  })
  let servers: readonly HttpServer[]
  try {
    ;({ url, servers } = await listen(assembled, settings, logger, handed))
  } catch (error) {
    await assembled.service.close()
    throw error
  }

  logger.info({ ...buildInfo(), url }, 'started')
  return {
    url,
    async close() {
      const stopped = servers.map(async (server) => await server.close())
      await Promise.all([...stopped, assembled.endWaits(), assembled.stopCommands()])
      await assembled.service.close()
      logger.info({}, 'stopped')
    },
  }
}

/** @throws StartError, and then nothing listens */
async function listen(
  { service, meter, metricsHandler }: Assembled,
  settings: Settings,
  logger: Logger,
  handed: HandedSocket | undefined,
): Promise<{ url: string; servers: HttpServer[] }> {
  const { metrics, limits } = settings
  const main = new HttpServer(service.handler, limits, logger, meter)
  const apart = metricsHandler && metrics !== 'main' ? new HttpServer(metricsHandler, limits, logger, meter) : undefined
  const servers = apart ? [main, apart] : [main]
  if (apart) {
    const colon = metrics.lastIndexOf(':')
    const [host, port] = [metrics.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), Number(metrics.slice(colon + 1))]
    const listening = await apart
      .listen({ host, port })
      .catch(refused(`${host}, port ${port}`, 'the setting metrics (COMMIT_STATUS_METRICS) says'))
    logger.info({ address: listening?.address, port: listening?.port }, 'metrics are served')
  }
  try {
    return { url: await listenMain(main, settings, handed), servers }
  } catch (error) {
    await Promise.all(servers.map(async (server) => await server.close()))
    throw error
  }
}

/** @returns where, as `StandAlone.url` has it */
async function listenMain(
  server: HttpServer,
  { host, port, socket }: Settings,
  handed: HandedSocket | undefined,
): Promise<string> {
  if (handed) {
    const where = `the socket ${handed.name} of systemd`
    const at = await server.listen(handed).catch(refused(where, 'its unit says'))
    return at ? httpUrl(at.address, at.port) : `unix:${handed.name}`
  }
  const path = socketPathOf(host)
  const [where, setting] =
    path === undefined
      ? [`${host}, port ${port}`, 'the settings host and port (COMMIT_STATUS_HOST, COMMIT_STATUS_PORT) say']
      : [host, 'the setting host (COMMIT_STATUS_HOST) says']
  const listening =
    path === undefined
      ? server.listen({ host, port })
      : listenAtPath(path, socket, async () => await server.listen({ path }))
  const at = await listening.catch(refused(where, setting))
  return at ? httpUrl(at.address, at.port) : host
}

function refused(where: string, setting: string): (cause: unknown) => never {
  return (cause) => {
    throw new StartError(`cannot listen on ${where}: ${errorMessage(cause)}; ${setting} where`, { cause })
  }
}
