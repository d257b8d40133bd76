import { once } from 'node:events'
import { chmod, chown, lstat, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { errorMessage } from '../errors.js'
import { undefinedFor } from '../git/stat.js'

/** Who may connect to a Unix socket: the settings of the same names say what each means. */
export interface SocketAccess {
  readonly mode: string
  readonly group: string
}

/** Whether everybody on the machine may connect. */
export function isForEverybody({ mode }: SocketAccess): boolean {
  return (Number.parseInt(mode, 8) & 0o002) !== 0
}

/** The most bytes that Linux takes as the path of a socket. */
const MAX_BYTES = 107

/** The path of the socket, where the setting `host` names one. */
export function socketPathOf(host: string): string | undefined {
  return host.startsWith('unix:') ? host.slice('unix:'.length) : undefined
}

/** Whether the setting `host` is an address, or a path that a socket can have. */
export function isListenHost(host: string): boolean {
  const path = socketPathOf(host)
  return path === undefined || (path !== '' && Buffer.byteLength(path) <= MAX_BYTES)
}

/**
 * Listens at a path, in the place of a socket that nobody listens on any more.
 * @param listen makes the socket, for its owner alone
 * @throws when somebody listens there, when there is something else, or when the group cannot be given
 */
export async function listenAtPath<T>(
  path: string,
  { mode, group }: SocketAccess,
  listen: () => Promise<T>,
): Promise<T> {
  const gid = group === '' ? -1 : await groupId(group)
  await removeStale(path)
  const listening = await listen()
  await chown(path, -1, gid).catch((cause: unknown) => {
    throw new Error(`the socket cannot be given to the group ${group}: ${errorMessage(cause)}`, { cause })
  })
  await chmod(path, Number.parseInt(mode, 8))
  return listening
}

async function removeStale(path: string): Promise<void> {
  // Of a folder that is missing, the system would say that it may not be written to.
  await lstat(dirname(path))
  const found = await lstat(path).catch(undefinedFor('ENOENT'))
  if (!found) return
  if (!found.isSocket()) throw new Error('what is there is no socket')
  const socket = connect(path)
  // One that takes no more connections for now is no less alive.
  const isLive = await once(socket, 'connect').then(
    () => true,
    (error: unknown) => !(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'),
  )
  socket.destroy()
  if (isLive) throw new Error('another process listens there')
  await rm(path, { force: true })
}

/** The number of a group, which Node.js cannot ask the system for. */
async function groupId(group: string): Promise<number> {
  if (/^\d+$/.test(group)) return Number(group)
  const groups = (await readFile('/etc/group', 'utf8')).split('\n').map((line) => line.split(':'))
  const number = groups.find(([name]) => name === group)?.[2]
  if (number === undefined) throw new Error(`/etc/group has no group ${group}; a number would do`)
  return Number(number)
}
