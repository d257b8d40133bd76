import { FEW_ROWS, NO_STATUS, type AskedList, type CommitKey, type FoundRows } from './asked-list.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'
import { DIGESTS_OVER_SHARDS, LISTS_OVER_SHARDS } from './list-statements.js'
import type { StatusRow } from './status-columns.js'
import { repositoryKey, repositoryText } from './status-rows.js'

interface CommitRow {
  readonly repository: Buffer
  readonly sha: Buffer
}

interface FoundDigest {
  readonly digest: string
  readonly contexts: number
}

const NOTHING = { digest: NO_STATUS, contexts: 0 } satisfies FoundDigest

/** One short try: where it fails each list is asked for alone, so that nobody waits for a shard of others. */
const TOGETHER = { milliseconds: 0, statementMilliseconds: 1_000 } satisfies RetryPolicy

/** Digests of commits; `undefined` where their shard is known to be away. */
export async function digestsOverShards(
  database: PostgresDatabase,
  commits: readonly CommitKey[],
  policy: RetryPolicy = {},
): Promise<(commit: CommitKey) => FoundDigest | undefined> {
  const names = [...new Set(commits.map(({ repository }) => repositoryText(repository)))]
  const there = new Set(await database.usable(names))
  const isThere = ({ repository }: CommitKey): boolean => there.has(repositoryText(repository))
  const rows = await database.query<CommitRow & FoundDigest>(DIGESTS_OVER_SHARDS, valuesOf(commits.filter(isThere)), {
    ...policy,
    repositories: [...there],
  })
  const digests = new Map(rows.map((row) => [keyOfRow(row), row]))
  return (commit) => (isThere(commit) ? (digests.get(keyOf(commit)) ?? NOTHING) : undefined)
}

/**
 * Small lists of several repositories, on all their shards at once: what has not changed since it was cached is not
 * read.
 * @returns `undefined` for those that are to be asked for alone: large ones, and where a shard does not answer
 */
export async function listsOverShards(
  database: PostgresDatabase,
  lists: readonly AskedList[],
): Promise<(asked: AskedList) => FoundRows | undefined> {
  try {
    const digestOf = await digestsOverShards(database, lists, TOGETHER)
    const isChanged = (asked: AskedList): boolean => {
      const { digest, contexts } = digestOf(asked) ?? NOTHING
      return contexts > 0 && contexts <= FEW_ROWS && digest !== asked.cached?.digest
    }
    const changed = await rowsOverShards(database, lists.filter(isChanged))
    return (asked) => {
      const found = digestOf(asked)
      if (!found || found.contexts > FEW_ROWS) return undefined
      return { digest: found.digest, rows: changed.get(keyOf(asked)) ?? [] }
    }
  } catch {
    // Whoever asks alone finds out why.
    return () => undefined
  }
}

async function rowsOverShards(
  database: PostgresDatabase,
  lists: readonly AskedList[],
): Promise<ReadonlyMap<string, readonly StatusRow[]>> {
  const found = new Map<string, StatusRow[]>(lists.map((asked) => [keyOf(asked), []]))
  if (lists.length === 0) return found
  const repositories = lists.map(({ repository }) => repositoryText(repository))
  const policy = { ...TOGETHER, repositories }
  for (const row of await database.query<CommitRow & StatusRow>(LISTS_OVER_SHARDS, valuesOf(lists), policy))
    found.get(keyOfRow(row))?.push(row)
  return found
}

/** Each commit once. */
function valuesOf(commits: readonly CommitKey[]): [Buffer[], Buffer[]] {
  const each = [...new Map(commits.map((commit) => [keyOf(commit), commit])).values()]
  return [
    each.map(({ repository }) => repositoryKey(repository)),
    each.map(({ commit }) => Buffer.from(commit.hex, 'hex')),
  ]
}

function keyOf({ repository, commit }: CommitKey): string {
  return `${repositoryText(repository)}${commit.hex}`
}

function keyOfRow({ repository, sha }: CommitRow): string {
  return `${repository.toString()}${sha.toString('hex')}`
}
