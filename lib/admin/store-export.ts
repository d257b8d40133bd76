import { AdministrationError } from '../errors.js'
import type { Grant } from '../contracts/records.js'
import type { StatusPage, StoreContents } from '../contracts/store-administration.js'
import type { Store } from '../contracts/store.js'
import { batches, type Task } from '../concurrency/task.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ExportLines, type ExportRecord } from './export-lines.js'

/** The lines of an export; without its last line, which is the end of its work, it is no export. */
export async function* exportStore(
  store: Store,
  contents: StoreContents,
  repository?: RepositoryName,
): Task<null, string> {
  const lines = new ExportLines()
  const grants = new WaitingGrants(await store.grants.list(repository?.owner, repository))
  let items = [lines.first(repository ?? null)]
  if (!repository) for (const record of await ofStore(store)) items.push(lines.of(record))
  const isEmpty = repository !== undefined && grants.isEmpty
  let [current, done] = ['', 0]
  for await (const page of repository ? pagesOf(store, repository) : contents.pages()) {
    for (const { repository, status } of page.statuses) {
      if (repository.full !== current)
        items.push(...grants.takeOn(repository.full).map((grant) => lines.of({ type: 'grant', grant })))
      current = repository.full
      items.push(lines.of({ type: 'status', repository, status }))
    }
    done += page.statuses.length
    yield { items, progress: { phase: 'exporting', done, share: page.share } }
    items = []
  }
  if (isEmpty && done === 0) throw new AdministrationError(`the store has nothing of ${repository.full}`)
  yield { items: [...items, ...grants.rest().map((grant) => lines.of({ type: 'grant', grant })), lines.last()] }
  return null
}

async function* pagesOf(store: Store, repository: RepositoryName): AsyncGenerator<StatusPage> {
  for await (const batch of batches(store.statuses.scan(repository))) {
    yield { statuses: batch.map((status) => ({ repository, status })), share: undefined }
  }
}

/** What is of no repository. */
async function ofStore({ tokens, grants }: Store): Promise<ExportRecord[]> {
  const onOwners = (await grants.list()).filter(({ repository }) => repository === undefined)
  return [
    ...(await tokens.list()).map((token): ExportRecord => ({ type: 'token', token })),
    ...onOwners.map((grant): ExportRecord => ({ type: 'grant', grant })),
  ]
}

/** The grants on repositories, until the statuses of theirs come. */
class WaitingGrants {
  readonly #grants = new Map<string, Grant[]>()

  constructor(grants: readonly Grant[]) {
    for (const grant of grants) {
      if (!grant.repository) continue
      const { full } = grant.repository
      this.#grants.set(full, [...(this.#grants.get(full) ?? []), grant])
    }
  }

  get isEmpty(): boolean {
    return this.#grants.size === 0
  }

  takeOn(repository: string): Grant[] {
    const taken = this.#grants.get(repository) ?? []
    this.#grants.delete(repository)
    return taken
  }

  /** Those of repositories without statuses. */
  rest(): Grant[] {
    return [...this.#grants.values()].flat()
  }
}
