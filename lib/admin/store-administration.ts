import type { Task } from '../concurrency/task.js'
import type { Grant, TokenRecord } from '../contracts/records.js'
import type { StoreContents, StoreCounts, StoreFindings, StoreMaintenance } from '../contracts/store-administration.js'
import type { Store } from '../contracts/store.js'
import { AdministrationError, BackupRefused } from '../errors.js'
import {
  audited,
  folderOf,
  logChange,
  OF_THE_HOST,
  steered,
  type AdministrationDependencies,
} from './administration-dependencies.js'
import type { Administration } from './administration.js'
import { checkRepository } from './arguments.js'
import { auditGrants, type Actor } from './audit-log.js'
import { exportStore } from './store-export.js'
import { importStore, nothingImported, type ImportCounts } from './store-import.js'
import { nothingPruned, pruneStore, type PruneCounts, type PruneFinding, type PruneRequest } from './store-prune.js'
import { storeStatistics, type StoreStatistics } from './store-statistics.js'

/** Long tasks on the whole store. */
export function storeAdministration(dependencies: AdministrationDependencies) {
  const { store } = dependencies
  return {
    async *storeStatistics(top: number): Task<StoreStatistics> {
      return yield* steered(dependencies, storeStatistics(store, contentsOf(store), top))
    },

    async *exportStore(repository: string | null): Task<null, string> {
      const name = repository === null ? undefined : checkRepository(repository)
      return yield* steered(dependencies, exportStore(store, contentsOf(store), name))
    },

    async *importStore(lines: AsyncIterable<string>, by?: Actor, withoutTokens = false): Task<ImportCounts> {
      const counts = nothingImported()
      const changed = (tokens: readonly TokenRecord[], grants: readonly Grant[]): void => {
        for (const token of tokens) logChange(dependencies, by, audited(token), 'token imported')
        auditGrants(dependencies.logger, by ?? dependencies.by, grants, 'access granted')
      }
      let isWhole = false
      try {
        const { clock } = dependencies
        const into = { store, contents: contentsOf(store), withoutTokens }
        yield* steered(dependencies, importStore(into, lines, counts, changed, clock))
        isWhole = true
        return counts
      } finally {
        dependencies.changed?.()
        if (isWhole || counts.statuses + counts.tokens + counts.grants > 0)
          logChange(dependencies, by, counts, isWhole ? 'store imported' : 'store imported in part')
      }
    },

    async *pruneStore(request: PruneRequest, by?: Actor): Task<PruneCounts, PruneFinding> {
      return yield* prunedStore(dependencies, request, by)
    },

    async *verifyStore(): Task<StoreFindings> {
      return yield* steered(dependencies, maintenanceOf(store).verify())
    },

    async *backUpStore(folder: string): Task<StoreCounts> {
      try {
        return yield* steered(dependencies, maintenanceOf(store).backUp(folder))
      } catch (error) {
        throw error instanceof BackupRefused ? new AdministrationError(error.message) : error
      }
    },
  } satisfies Partial<Administration>
}

/** @param counts what has been done by now, for whoever must know when it fails */
export async function* prunedStore(
  dependencies: AdministrationDependencies,
  request: PruneRequest,
  by?: Actor,
  counts = nothingPruned(),
): Task<PruneCounts, PruneFinding> {
  const { store, commits } = dependencies
  const read = { contents: contentsOf(store), repositories: folderOf(dependencies), commits }
  let isWhole = false
  try {
    yield* steered(dependencies, pruneStore(read, request, counts))
    isWhole = true
    return counts
  } finally {
    dependencies.changed?.()
    if (request.remove && (isWhole || counts.statuses > 0))
      logChange(dependencies, by, { ...request, ...counts }, isWhole ? 'store pruned' : 'store pruned in part')
  }
}

function contentsOf(store: Store): StoreContents {
  if (!store.contents) throw new AdministrationError(`${OF_THE_HOST} a store of its own`)
  return store.contents
}

function maintenanceOf(store: Store): StoreMaintenance {
  if (!store.maintenance)
    throw new AdministrationError('this is no LevelDB store: it is checked and backed up with tools of its own')
  return store.maintenance
}
