import type { Administration } from '../admin/administration.js'
import type { AdministrationDependencies } from '../admin/administration-dependencies.js'
import { AuditedRepositories, type AuditedRepositoriesDependencies } from '../admin/audit-log.js'
import { localAdministration } from '../admin/local-administration.js'
import { Retention } from '../admin/retention.js'
import { openSocket } from '../admin/server.js'
import { Throttle } from '../admin/throttle.js'
import { AdministrationError } from '../errors.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import { levelFolder } from '../store/address.js'
import type { Dependencies } from './open-dependencies.js'
import type { CommitStatusOptions } from './options.js'

/** How long commands under way may take to finish when the service is closed. */
const COMMAND_SECONDS = 4

interface ServiceAdministrationDependencies
  extends
    Pick<Dependencies, 'store' | 'tokens' | 'folder' | 'rights' | 'clock'>,
    Pick<AuditedRepositoriesDependencies, 'changes' | 'run'>,
    Pick<AdministrationDependencies, 'commits'> {
  readonly hooks: AdministrationDependencies['hooks'] | undefined
  readonly signIns: AdministrationDependencies['signIns'] | undefined
  readonly changed: () => void
  readonly logger: Logger
  readonly meter: Meter
}

/** What changes a running service but reports do: its host, commands, and time. */
interface ServiceAdministration {
  /** The host's. */
  readonly administration: Administration
  readonly audited: AuditedRepositories
  /** Ends the commands under way, and closes their socket. */
  readonly stopCommands: () => Promise<void>
  /** Absent where nothing is removed by its age. */
  readonly retention: Retention | undefined
}

/** Opens the administration of a running service, and the socket of its commands. */
export async function openServiceAdministration(
  options: CommitStatusOptions,
  dependencies: ServiceAdministrationDependencies,
): Promise<ServiceAdministration> {
  const { store, hooks, signIns, changes, run, changed, commits, logger, meter } = dependencies
  const stopping = new AbortController()
  const audited = new AuditedRepositories({ changes, grants: store.grants, hooks: store.hooks, logger, run })
  const administered = {
    ...(hooks && { hooks }),
    ...administeredParts(options, dependencies),
    ...{ audited, commits, stopping: stopping.signal },
    ...(signIns && { signIns }),
    changed,
  }
  const closeSocket = await openCommands(options, localAdministration(administered), logger)
  let commandsStopped: Promise<void> | undefined
  const { retention: rule = 'off' } = options
  const claimDay = store.claimDay?.bind(store)
  return {
    administration: localAdministration({ ...administered, by: 'host' }),
    audited,
    stopCommands: () => {
      stopping.abort(new AdministrationError('the service was told to stop'))
      return (commandsStopped ??= closeSocket(COMMAND_SECONDS))
    },
    retention:
      rule === 'off' || !claimDay
        ? undefined
        : new Retention(rule, claimDay, { ...administered, by: 'retention', meter }),
  }
}

/** What an admin works on; what the host has in place of ours is the host's to administer. */
function administeredParts(
  options: CommitStatusOptions,
  { store, tokens, folder, rights, clock, logger }: ServiceAdministrationDependencies,
): Omit<AdministrationDependencies, 'audited' | 'commits'> {
  const throttle = new Throttle()
  return {
    store,
    ...(!options.authenticator && { tokens }),
    hasGrants: options.accessPolicy === undefined,
    ...(rights && { rights }),
    logger,
    clock,
    ...(folder && { repositories: folder }),
    yieldTurn: async (took) => {
      await throttle.wait(took)
    },
  }
}

/** @returns closes the socket, if there is one: commands on a database make connections of their own */
async function openCommands(
  { store, commands = true }: CommitStatusOptions,
  administration: Administration,
  logger: Logger,
): Promise<(seconds: number) => Promise<void>> {
  const folder = typeof store === 'string' ? levelFolder(store) : undefined
  return folder === undefined || !commands ? () => Promise.resolve() : await openSocket(administration, folder, logger)
}
