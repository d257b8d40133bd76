import { stat } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { ServiceNotRunning, remoteAdministration } from '../../../lib/admin/client.js'
import { socketPath } from '../../../lib/admin/socket-path.js'
import { silentLogger } from '../../../lib/contracts/logger.js'
import { openStore } from '../../../lib/embedding/open-store.js'
import { errorMessage } from '../../../lib/errors.js'
import { levelFolder, withoutPassword } from '../../../lib/store/address.js'
import type { GivenSettings, Settings } from '../../../lib/stand-alone/settings.js'
import { httpUrl } from '../../../lib/stand-alone/sign-in.js'
import { socketPathOf } from '../../../lib/stand-alone/unix-socket.js'
import { defaultSettings } from '../administration/command-settings.js'
import { lockHolder } from '../administration/lock-holder.js'
import { userName } from '../administration/user-name.js'
import { doubtful, ok, wrong, type Finding } from './findings.js'

/** How long a service may take for an answer. */
const ANSWER_MILLISECONDS = 5_000

/** Where the settings come from that are not as by default; no value is shown. */
export function sources({ settings, file, from }: GivenSettings): Finding[] {
  const usual = defaultSettings()
  const named = [...from]
    .filter(([key]) => !isDeepStrictEqual(valueAt(settings, key), valueAt(usual, key)))
    .map(([key, source]) => (source === file ? key : `${key} (${source})`))
  const where = file ?? 'no file'
  return [ok('settings', `${where}${named.length > 0 ? `: ${named.join(', ')}` : ''}; all else is as by default`)]
}

/** @param key with a dot for each nested object */
function valueAt(settings: Settings, key: string): unknown {
  const inside = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)
  return key.split('.').reduce(inside, settings)
}

/** Whether the store can be used, by whom, and who has it open. */
export async function store(address: string): Promise<Finding[]> {
  const folder = levelFolder(address)
  return folder === undefined ? await database(address) : await level(folder)
}

async function database(address: string): Promise<Finding[]> {
  try {
    const opened = await openStore(address, silentLogger)
    await opened.close()
    return [ok('store', withoutPassword(address))]
  } catch (error) {
    return [wrong('store', `${withoutPassword(address)}: ${errorMessage(error)}`)]
  }
}

async function level(folder: string): Promise<Finding[]> {
  const found = await stat(folder).catch((error: unknown) => errorMessage(error))
  if (typeof found === 'string') return [doubtful('store', `${folder} is not there yet: ${found}`)]
  const owner = (await userName(found.uid)) ?? `user ${found.uid}`
  const open = (found.mode & 0o077) === 0 ? [] : [doubtful('store', `${folder} is open to others than ${owner}`)]
  // The list of locks does not tell on every file system, Btrfs and those of containers among them.
  const holder = await lockHolder(folder)
  const held = `${folder} of ${owner}, open in ${holder === undefined ? 'a service' : `process ${holder}`}`
  try {
    await remoteAdministration(socketPath(folder), ANSWER_MILLISECONDS).listAccess('nobody')
    return [ok('store', `${held}, which takes commands`), ...open]
  } catch (error) {
    const isNobody = error instanceof ServiceNotRunning
    if (isNobody && holder === undefined) return [ok('store', `${folder} of ${owner}; no service has it open`), ...open]
    const why = isNobody ? 'no service listens on its socket' : errorMessage(error)
    return [doubtful('store', `${held}; commands do not reach it: ${why}`), ...open]
  }
}

/** Whether a service answers where it is to listen, and where people see it. */
export async function addresses({ host, port, publicUrl, trustedProxies }: Settings): Promise<Finding[]> {
  const listening = await listener(host, port)
  if (publicUrl === '') return [listening]
  return [
    listening,
    await health('publicUrl', publicUrl.replace(/\/$/, '')),
    ...(trustedProxies.length > 0
      ? []
      : [
          doubtful(
            'proxy',
            'trustedProxies names none: behind a reverse proxy all clients share one budget of failed log-ins',
          ),
        ]),
  ]
}

async function listener(host: string, port: number): Promise<Finding> {
  const path = socketPathOf(host)
  if (path !== undefined) return await health('address', host, path)
  if (port === 0) return doubtful('address', 'port 0: another one at each start')
  return await health('address', httpUrl(host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1'), port))
}

/** @param socketPath where it is asked, if not at the URL */
async function health(about: string, url: string, socketPath?: string): Promise<Finding> {
  try {
    const { status, text } = await (socketPath === undefined ? asked(url) : askedAt(socketPath))
    const words = `${url} answers ${status}`
    return status === 200 && text.includes('"ok"') ? ok(about, words) : wrong(about, `${words}: ${text.trim()}`)
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {}
    return wrong(about, `nothing answers at ${url}: ${errorMessage(cause)}`)
  }
}

async function asked(url: string): Promise<{ status: number | undefined; text: string }> {
  const signal = AbortSignal.timeout(ANSWER_MILLISECONDS)
  const response = await fetch(`${url}/healthz`, { redirect: 'manual', signal })
  return { status: response.status, text: (await response.text()).slice(0, 200) }
}

async function askedAt(socketPath: string): Promise<{ status: number | undefined; text: string }> {
  const signal = AbortSignal.timeout(ANSWER_MILLISECONDS)
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ socketPath, path: '/healthz', agent: false, signal }, resolve).on('error', reject)
  })
  return { status: incoming.statusCode, text: (await text(incoming)).slice(0, 200) }
}
