import { batches, type Task } from '../concurrency/task.js'
import { accessSaid } from '../auth/command-policy.js'
import { ACCESS } from '../contracts/access-policy.js'
import type { WholeStore } from '../contracts/store.js'
import type { StoredStatus } from '../domain/commit-status.js'
import type { ObjectId } from '../domain/object-id.js'
import { settle } from '../concurrency/maybe-promise.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { AdministrationError, ArgumentError, errorMessage } from '../errors.js'
import { MAX_SKIPPED } from '../git/repository-listing.js'
import {
  folderOf,
  logChange,
  OF_THE_HOST,
  steered,
  type AdministrationDependencies,
} from './administration-dependencies.js'
import {
  MAX_COMMITS,
  type AccessSource,
  type Administration,
  type CheckedAccess,
  type ListedGrant,
  type ListedRepositories,
  type ListedRepository,
  type RepositoryCounts,
} from './administration.js'
import {
  checkCommit,
  checkFormerUser,
  checkRepository,
  checkStoredRepository,
  checkUser,
  grantTarget,
} from './arguments.js'
import type { Actor } from './audit-log.js'
import { latestCommits, type ReportedItem } from './reported-commits.js'

/** Repositories, who may do what in them, and their statuses. */
export function repositoryAdministration(dependencies: AdministrationDependencies) {
  const { store } = dependencies
  return {
    async grantAccess(on: string, user: string, access: string, by?: Actor): Promise<void> {
      if (!dependencies.hasGrants) throw new AdministrationError(`${OF_THE_HOST} rights of its own`)
      const level = ACCESS.find((candidate) => candidate === access)
      if (level === undefined || level === 'none')
        throw new ArgumentError(`access must be read or write, not ${access}`)
      await store.grants.set({ ...grantTarget(on), user: checkUser(user), access: level })
      logChange(dependencies, by, { on, user, access }, 'access granted')
    },

    async revokeAccess(on: string, user: string, by?: Actor): Promise<void> {
      const removed = await store.grants.remove({ ...grantTarget(on), user: checkFormerUser(user) })
      if (!removed) throw new AdministrationError(`${user} has no grant on ${on}`)
      logChange(dependencies, by, { on, user }, 'access revoked')
    },

    async listAccess(on: string | null): Promise<ListedGrant[]> {
      const { owner, repository } = on === null ? {} : grantTarget(on)
      return (await store.grants.list(owner, repository)).map(({ owner, repository, user, access }) => ({
        on: repository?.full ?? owner,
        user,
        access,
      }))
    },

    accessSource(): Promise<AccessSource> {
      return Promise.resolve(dependencies.rights ? 'command' : dependencies.hasGrants ? 'grants' : 'host')
    },

    async checkAccess(user: string, repository: string): Promise<CheckedAccess> {
      if (!dependencies.hasGrants) throw new AdministrationError(`${OF_THE_HOST} rights of its own`)
      const [name, asked] = [checkRepository(repository), checkFormerUser(user)]
      if (dependencies.rights) return await checkedByCommand(dependencies, dependencies.rights, asked, name)
      const [found, grants] = await Promise.all([dependencies.repositories?.find(name), store.grants.of(asked, name)])
      const rights: CheckedAccess['rights'][number][] = [
        ...(asked === name.owner ? [{ access: 'write', by: 'owner' } as const] : []),
        ...[...grants]
          .sort((one, other) => Number(one.repository === undefined) - Number(other.repository === undefined))
          .map(({ access, repository: on, owner }) => ({ access, by: { grant: on?.full ?? owner } })),
        ...(found?.public ? [{ access: 'read', by: 'public' } as const] : []),
      ].sort((one, other) => ACCESS.indexOf(other.access) - ACCESS.indexOf(one.access))
      return { access: rights[0]?.access ?? 'none', rights, exists: found !== undefined }
    },

    async listRepositories(on: string | null = null): Promise<ListedRepositories> {
      const repositories: ListedRepository[] = []
      const problems: string[] = []
      const note = (error: unknown): undefined => {
        problems.push(errorMessage(error))
      }
      const folder = folderOf(dependencies)
      const add = ({ full }: RepositoryName, isPublic: boolean): void => {
        repositories.push({ repository: full, visibility: isPublic ? 'public' : 'private' })
      }
      const { owner, repository }: Partial<ReturnType<typeof grantTarget>> = on === null ? {} : grantTarget(on)
      if (repository) {
        const found = await settle(async () => (await folder.find(repository)) ?? (await folder.check()))
        if ('error' in found) note(found.error)
        else if (found.value) add(repository, found.value.public)
        return { repositories, problems, skipped: [], skippedCount: 0 }
      }
      const { found, skipped } = await folder.listing(note, owner)
      for (const each of found) add(each.name, await folder.isPublic(each))
      return { repositories, problems, skipped: skipped.slice(0, MAX_SKIPPED), skippedCount: skipped.length }
    },

    async setVisibility(repository: string, visibility: 'public' | 'private', by?: Actor): Promise<void> {
      if (!(await folderOf(dependencies).setPublic(checkRepository(repository), visibility === 'public')))
        throw new AdministrationError(`there is no repository ${repository}`)
      logChange(dependencies, by, { repository }, `repository made ${visibility}`)
    },

    async countRepository(repository: string): Promise<RepositoryCounts> {
      return await countsOf(store, checkStoredRepository(repository))
    },

    async renameRepository(from: string, to: string, by?: Actor): Promise<RepositoryCounts> {
      const [name, newName] = [checkStoredRepository(from), checkRepository(to)]
      if (from === to) throw new AdministrationError(`${from} is its name already`)
      const counts = await countsOf(store, name)
      await dependencies.audited.rename(by ?? dependencies.by, name, newName, counts)
      return counts
    },

    async deleteRepository(repository: string, by?: Actor): Promise<RepositoryCounts> {
      const name = checkStoredRepository(repository)
      const counts = await countsOf(store, name)
      await dependencies.audited.delete(by ?? dependencies.by, name, counts)
      return counts
    },

    async *listStatuses(repository: string, sha: string | null): Task<null, StoredStatus> {
      const [name, commit] = [checkStoredRepository(repository), sha === null ? undefined : checkCommit(sha)]
      yield* steered(dependencies, statusesOf(store, name, commit))
      return null
    },

    async *listCommits(repository: string, sha: string | null, limit: number): Task<null, ReportedItem> {
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_COMMITS) {
        throw new ArgumentError(`the limit must be 1 to ${MAX_COMMITS}, not ${limit}`)
      }
      const [name, commit] = [checkRepository(repository), sha === null ? undefined : checkCommit(sha)]
      const commits = yield* steered(dependencies, latestCommits(store.statuses.scan(name, commit), limit))
      if (commits.length === 0 && !commit) await refuseUnknown(dependencies, name)
      for (const found of commits) {
        yield { items: [{ commit: found }] }
        for await (const { items = [] } of steered(dependencies, statusesOf(store, name, checkCommit(found.sha)))) {
          yield { items: items.map((status) => ({ status })) }
        }
      }
      return null
    },

    async deleteStatuses(repository: string, sha: string, context: string | null, by?: Actor): Promise<number> {
      const [name, commit] = [checkRepository(repository), checkCommit(sha)]
      const removed = await store.statuses.remove(name, commit, context ?? undefined)
      dependencies.changed?.()
      if (removed === 0)
        throw new AdministrationError(
          `${repository} has no status${context === null ? '' : ` ${JSON.stringify(context)}`} on ${commit.hex}`,
        )
      logChange(dependencies, by, { repository, sha: commit.hex, context, statuses: removed }, 'statuses deleted')
      return removed
    },
  } satisfies Partial<Administration>
}

/** @throws AdministrationError with what went wrong with the program */
async function checkedByCommand(
  { repositories }: AdministrationDependencies,
  rights: NonNullable<AdministrationDependencies['rights']>,
  user: string,
  name: RepositoryName,
): Promise<CheckedAccess> {
  const [found, said = null] = await Promise.all([repositories?.find(name), rights.explain(user, name)]).catch(
    (error: unknown) => {
      throw new AdministrationError(errorMessage(error), { cause: error })
    },
  )
  const access = said ? accessSaid(said) : 'none'
  const given: CheckedAccess['rights'] = [
    ...(access === 'none' ? [] : [{ access, by: 'command' } as const]),
    ...(found?.public ? [{ access: 'read', by: 'public' } as const] : []),
  ]
  return { access: given[0]?.access ?? 'none', rights: given, said, exists: found !== undefined }
}

/** @throws AdministrationError when there is nothing, no hook either */
async function countsOf(store: WholeStore, name: RepositoryName): Promise<RepositoryCounts> {
  const { statuses, grants, hooks } = store
  const counts = {
    statuses: await statuses.count(name),
    grants: (await grants.list(name.owner, name)).length,
  }
  const hasHooks = (await hooks?.list())?.some(({ on }) => on === name.full)
  if (counts.statuses + counts.grants === 0 && !hasHooks)
    throw new AdministrationError(`nothing is stored of ${name.full}: no status, no grant on it`)
  return counts
}

/** Refuses a name that is a mistake: a repository that is gone may have statuses, but this one has none either. */
async function refuseUnknown(dependencies: AdministrationDependencies, name: RepositoryName): Promise<void> {
  if (dependencies.repositories && !(await dependencies.repositories.find(name)))
    throw new AdministrationError(`there is no repository ${name.full} in ${dependencies.repositories.path}`)
}

async function* statusesOf(
  store: WholeStore,
  name: RepositoryName,
  commit: ObjectId | undefined,
): Task<null, StoredStatus> {
  for await (const items of batches(store.statuses.scan(name, commit))) {
    // A store of the host may pass over the commit.
    yield { items: commit ? items.filter(({ sha }) => sha === commit.hex) : items }
  }
  return null
}
