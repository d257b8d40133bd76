import { stat } from 'node:fs/promises'
import type { Administration } from '../../../lib/admin/administration.js'
import { openAdministration } from '../../../lib/embedding/open-administration.js'
import { StoreUnavailable } from '../../../lib/errors.js'
import { silentLogger, type Logger } from '../../../lib/contracts/logger.js'
import type { Settings } from '../../../lib/stand-alone/settings.js'
import { warn, type Io } from '../terminal/io.js'
import { visible } from '../terminal/visible.js'
import { changeLog, changesOnStandardError } from './change-log.js'
import { Interruption } from './interruption.js'

/** Does what an admin asked for in the store itself, while no service has it open. */
export async function withLocalAdministration<T>(
  io: Io,
  settings: Settings,
  folder: string | undefined,
  use: (administration: Administration, interrupted: AbortSignal) => Promise<T>,
): Promise<T> {
  if (folder !== undefined) await refuseForeign(folder)
  // As in the service: files of the store are its user's alone.
  io.umask(0o077)
  const interruption = new Interruption(io)
  try {
    const { signal } = interruption
    const opened = await openAdministration(settings, {
      auditLogger: folder === undefined ? changesOnStandardError(io) : changeLog(io, folder),
      storeLogger: onStandardError(io),
      stopping: signal,
    })
    try {
      return await use(opened.administration, signal)
    } finally {
      await opened.close()
    }
  } finally {
    interruption.end()
  }
}

/** What an admin must know of the store is said beside what the command prints. */
function onStandardError(io: Io): Logger {
  return {
    ...silentLogger,
    error(facts, message) {
      warn(io, message)
      if ('damage' in facts && Array.isArray(facts.damage))
        for (const words of facts.damage) io.stderr.write(`  ${visible(String(words))}\n`)
    },
  }
}

/** What root writes into the service's store, the service could not read any more. */
async function refuseForeign(folder: string): Promise<void> {
  const owner = await stat(folder).catch(() => undefined)
  if (owner && process.geteuid?.() === 0 && owner.uid !== 0) {
    throw new StoreUnavailable(
      `the store ${folder} belongs to user ${owner.uid} and no service is running: run this as that user`,
    )
  }
}
