import { StartError } from '../errors.js'

/** A socket that listens already, and stays when this process ends. */
export interface HandedSocket {
  readonly fd: number
  /** Its unit's, unless that says otherwise. */
  readonly name: string
}

/** Where systemd begins to number what it hands over. */
const FIRST = 3

/**
 * The socket that systemd hands over (sd_listen_fds), if it does.
 * @param pid of this process: what is for another one, a parent perhaps, does not count
 * @throws StartError for more than one, or none
 */
export function handedSocket(environment: NodeJS.ProcessEnv, pid: number): HandedSocket | undefined {
  const { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES: names = 'unknown' } = environment
  if (LISTEN_PID !== String(pid) || LISTEN_FDS === undefined) return undefined
  if (LISTEN_FDS === '1') return { fd: FIRST, name: names }
  throw new StartError(
    `systemd hands over ${LISTEN_FDS} sockets (${names}), and the service listens on one: leave one ListenStream in ` +
      'one socket unit',
  )
}
