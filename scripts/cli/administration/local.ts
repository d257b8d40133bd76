import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Administration } from '../../../lib/admin/administration.js'
import { openAdministration } from '../../../lib/embedding/open-administration.js'
import { StoreUnavailable } from '../../../lib/errors.js'
import { silentLogger, type Logger } from '../../../lib/contracts/logger.js'
import type { GivenSettings } from '../../../lib/stand-alone/settings.js'
import { serviceAddress, signInAddress } from '../../../lib/stand-alone/sign-in.js'
import { note, warn, type Io } from '../terminal/io.js'
import { visible } from '../terminal/visible.js'
import { changeLog, changesOnStandardError } from './change-log.js'
import { OfOtherUser } from './explained-failure.js'
import { Interruption } from './interruption.js'

/** Whether a store that is missing is an error, is made, or counts as one that is empty. */
export type IfMissing = 'refused' | 'made' | 'empty'

/** Does what an admin asked for in the store itself, while no service has it open. */
export async function withLocalAdministration<T>(
  io: Io,
  given: GivenSettings,
  folder: string | undefined,
  use: (administration: Administration, interrupted: AbortSignal) => Promise<T>,
  ifMissing: IfMissing,
): Promise<T> {
  if (folder !== undefined) await refuseForeign(folder)
  const isNew = folder !== undefined && (await isMissing(folder))
  if (isNew && ifMissing === 'refused')
    throw new StoreUnavailable(
      `there is no store ${folder}, which the setting store (${given.from.get('store') ?? 'default'}) names: no ` +
        'service has run with these settings',
    )
  const elsewhere = isNew && ifMissing === 'empty' ? await mkdtemp(join(tmpdir(), 'cst-')) : undefined
  // As in the service: files of the store are its user's alone.
  io.umask(0o077)
  const interruption = new Interruption(io)
  const address = signInAddress(given.settings)
  try {
    const { signal } = interruption
    const settings = { ...given.settings, ...(elsewhere !== undefined && { store: `level:${elsewhere}` }) }
    const opened = await openAdministration(settings, {
      auditLogger: folder === undefined ? await changesOnStandardError(io) : changeLog(io, folder),
      storeLogger: onStandardError(io),
      stopping: signal,
      ...(address !== undefined && { signInAddress: address }),
      serviceAddress: serviceAddress(given.settings),
    })
    if (isNew && elsewhere === undefined) note(io, `made the store ${settings.store}; no service uses it yet`)
    try {
      return await use(opened.administration, signal)
    } finally {
      await opened.close()
    }
  } finally {
    if (elsewhere !== undefined) await rm(elsewhere, { recursive: true })
    interruption.end()
  }
}

/** Whether a folder has no store in it, not even a damaged one. */
async function isMissing(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: unknown) => {
    const isThere = !(error instanceof Error && 'code' in error && error.code === 'ENOENT')
    return isThere ? ['CURRENT'] : []
  })
  return !names.some((name) => /^(?:CURRENT|incomplete|\d+\.(?:ldb|sst|log))$/.test(name))
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
  if (owner && process.geteuid?.() === 0 && owner.uid !== 0) throw new OfOtherUser(folder, owner.uid)
}
