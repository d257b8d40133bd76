import { appendFileSync, mkdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Actor } from '../../../lib/admin/audit-log.js'
import { errorMessage } from '../../../lib/errors.js'
import { silentLogger, type Logger } from '../../../lib/contracts/logger.js'
import { warn, type Io } from '../terminal/io.js'

/** Where changes are written down that are made while no service runs, and so none has a log. */
export function changeLogPath(storeFolder: string): string {
  return join(storeFolder, 'admin', 'changes.log')
}

/** Writes the lines that the service would log, in the same form, to a file that only its owner can read. */
export function changeLog(io: Io, storeFolder: string): Logger {
  const path = changeLogPath(storeFolder)
  return {
    ...silentLogger,
    info(facts, message) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        appendFileSync(path, `${lineOf(facts, message)}\n`, { mode: 0o600 })
      } catch (error) {
        warn(io, `done, but it could not be noted in ${path}: ${errorMessage(error)}`)
      }
    },
  }
}

/** The same lines, where the store is a database and has no folder to keep them in; on a terminal for people. */
export async function changesOnStandardError({ stderr }: Io): Promise<Logger> {
  // Only here: nobody else needs what makes lines for people.
  if (stderr.isTTY) return await (await import('../../../lib/stand-alone/log.js')).createLogger('info', stderr)
  return {
    ...silentLogger,
    info(facts, message) {
      stderr.write(`${lineOf(facts, message)}\n`)
    },
  }
}

function lineOf(facts: object, message: string): string {
  return JSON.stringify({ level: 30, time: Date.now(), ...facts, msg: message })
}

/** As whom this command runs. */
export function currentUser(): Actor {
  try {
    const { username, uid } = userInfo()
    return { user: username, uid }
  } catch {
    // As in a container: a number that has no name.
    const uid = process.geteuid?.() ?? -1
    return { user: String(uid), uid }
  }
}
