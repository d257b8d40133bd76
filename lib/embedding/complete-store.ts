import { AdministrationError } from '../errors.js'
import type { StatusStore, WholeStatusStore } from '../contracts/store.js'
import { serialisedList, toText } from '../domain/status-list.js'
import { statesOfLists } from '../store/states-of-lists.js'

/** What a host's statuses must have, and what is taken of the rest. */
type BroughtStatuses = Pick<StatusStore, 'save' | 'list' | 'scan' | 'remove'>

/** Adds to the statuses of a host's store what it leaves out, over `list` and `scan`. */
export function completeStatuses(statuses: BroughtStatuses): WholeStatusStore {
  const { save, list, scan, remove = refuseToRemove } = statuses
  const serialised: WholeStatusStore['serialised'] = async (repository, commit) =>
    serialisedList((await list(repository, commit)).map(toText))
  return {
    save,
    list,
    scan,
    remove,
    serialised,
    states: async (...asked) => await statesOfLists({ serialised }, ...asked),
    status: async (repository, commit, context) =>
      (await list(repository, commit)).find((status) => status.context === context),
    async *pages(repository, commit) {
      yield await list(repository, commit)
    },
    async count(repository) {
      let found = 0
      for await (const _ of scan(repository)) found++
      return found
    },
  }
}

function refuseToRemove(): Promise<never> {
  const reason = 'the git server that this service lives in has a store that removes no single statuses'
  return Promise.reject(new AdministrationError(reason))
}
