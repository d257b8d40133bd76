import { StoreFenced } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import type { Meter } from '../../contracts/meter.js'
import { batchLoader, rowOfKey, type BatchLoader } from './batch-loader.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase, RetryPolicy, ShardGuard } from './database.js'

/** How often it is looked whether what is away has come back. */
const INTERVAL_MILLISECONDS = 1_000

/** Short, so that a failure is known soon. */
const PATIENCE = { milliseconds: 1_000, statementMilliseconds: 1_000 } satisfies RetryPolicy

/** How many repositories are told apart of those that are refused. */
const MAX_COUNTED = 100_000

/** Where repositories are, as the coordinator knows by itself. */
const PLACES: Statement = {
  name: 'places',
  text: `SELECT r.at, p.shardid::text AS shard, n.nodename AS host, n.nodeport AS port
FROM (SELECT at, get_shard_id_for_distribution_column('commit_status.statuses', repository) AS shardid
  FROM unnest($1::bytea[]) WITH ORDINALITY AS u (repository, at)) AS r
JOIN pg_dist_placement AS p USING (shardid)
JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'`,
}

const ANSWERS: Statement = { name: 'node-answers', text: 'SELECT citus_check_connection_to_node($1, $2) AS answers' }

/** Changes nothing, in the way that a report does. */
const TOUCH: Statement = {
  name: 'touch-shard',
  text: "DELETE FROM commit_status.statuses WHERE repository = $1 AND sha = '' AND context = ''",
}

/**
 * Transactions over several nodes, of which one of them may not have heard that they were committed: what it has is
 * old until Citus has told it, and so it still is away.
 */
const UNFINISHED: Statement = {
  name: 'unfinished-transactions',
  text: `SELECT t.gid FROM pg_dist_transaction AS t JOIN pg_dist_node AS n USING (groupid)
WHERE n.nodename = $1 AND n.nodeport = $2`,
}

/** Where the statuses of a repository are. */
interface Place {
  readonly shard: string
  readonly host: string
  readonly port: number
}

/** A node, or one shard of it, that cannot be used at the moment. */
interface Away {
  readonly what: string
  readonly place: Place
  readonly since: number
  /** One that failed there. */
  readonly repository: string
  readonly refused: Set<string>
  /** Transactions that it may not have heard of; unknown while it does not answer. */
  unfinished: ReadonlySet<string> | undefined
  isLooking: boolean
}

/**
 * Shards of the statuses that are away while the coordinator answers: what is of their repositories is refused at once,
 * so that nobody else waits with it.
 */
export class Shards implements ShardGuard {
  readonly #coordinator: PostgresDatabase
  readonly #logger: Logger
  readonly #meter: Meter
  readonly #places: BatchLoader<string, Place | undefined>
  /** By node or shard. */
  readonly #away = new Map<string, Away>()
  /** Nodes that are being looked at. */
  readonly #suspected = new Set<string>()
  #known = new Map<string, Place>()
  #timer: NodeJS.Timeout | undefined

  /** @param coordinator where everything but the statuses is, over connections of its own */
  constructor(coordinator: PostgresDatabase, logger: Logger, meter: Meter) {
    this.#coordinator = coordinator
    this.#logger = logger
    this.#meter = meter
    this.#places = batchLoader(async (repositories) => {
      const rows = await coordinator.query<Place & { at: string }>(
        PLACES,
        [repositories.map((repository) => Buffer.from(repository))],
        PATIENCE,
      )
      return rowOfKey(repositories, rows)
    })
  }

  check(repositories: readonly string[]): Promise<void> | undefined {
    return this.#away.size > 0 ? this.#check(repositories) : undefined
  }

  failed(repositories: readonly string[]): void {
    for (const repository of repositories) void this.#suspect(repository)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #check(repositories: readonly string[]): Promise<void> {
    for (const repository of repositories) {
      const place = this.#known.get(repository) ?? (await this.#places.load(repository))
      if (!place) continue
      this.#known.set(repository, place)
      const away = this.#away.get(nodeOf(place)) ?? this.#away.get(shardOf(place))
      if (!away) continue
      if (away.refused.size < MAX_COUNTED && !away.refused.has(repository)) {
        away.refused.add(repository)
        this.#meter.repositoryRefused()
      }
      throw new StoreFenced(`the database cannot be used: ${away.what} is away`)
    }
  }

  /** Looks whether the node of a repository answers, and its shard. */
  async #suspect(repository: string): Promise<void> {
    // Without the coordinator nobody knows: it is away itself then.
    const place = await this.#places.load(repository).catch(() => undefined)
    if (!place) return
    const [node, shard] = [nodeOf(place), shardOf(place)]
    if (this.#away.has(node) || this.#away.has(shard) || this.#suspected.has(node)) return
    this.#suspected.add(node)
    const rows = await this.#ask<{ answers: boolean | null }>(ANSWERS, [place.host, place.port])
    if (!rows?.some(({ answers }) => answers === true)) this.#lose(node, place, repository)
    else if (!(await this.#ask(TOUCH, [Buffer.from(repository)]))) this.#lose(shard, place, repository)
    this.#suspected.delete(node)
  }

  #lose(what: string, place: Place, repository: string): void {
    if (this.#coordinator.isClosed) return
    const since = performance.now()
    this.#away.set(what, {
      ...{ what, place, since, repository },
      ...{ refused: new Set(), unfinished: undefined, isLooking: false },
    })
    this.#logger.error({ what }, 'a part of the database is away: what is of its repositories is refused')
    this.#timer ??= setInterval(() => {
      this.#look()
    }, INTERVAL_MILLISECONDS).unref()
  }

  #look(): void {
    // Shards may be moved.
    this.#known = new Map()
    for (const away of this.#away.values()) if (!away.isLooking) void this.#lookAt(away)
  }

  async #lookAt(away: Away): Promise<void> {
    away.isLooking = true
    if (await this.#isBack(away)) {
      this.#away.delete(away.what)
      const ms = Math.round(performance.now() - away.since)
      const facts = { what: away.what, ms, repositories: away.refused.size }
      this.#logger.warn(facts, 'a part of the database is back: so many repositories were refused')
      if (this.#away.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
    away.isLooking = false
  }

  async #isBack(away: Away): Promise<boolean> {
    const { repository, place } = away
    try {
      await this.#coordinator.query(TOUCH, [Buffer.from(repository)], PATIENCE)
      const rows = await this.#coordinator.query<{ gid: string }>(UNFINISHED, [place.host, place.port], PATIENCE)
      const unfinished = rows.map(({ gid }) => gid)
      away.unfinished ??= new Set(unfinished)
      const { unfinished: before } = away
      return !unfinished.some((gid) => before.has(gid))
    } catch {
      return false
    }
  }

  /** @returns `undefined` where that fails */
  async #ask<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[] | undefined> {
    return await this.#coordinator.query<Row>(statement, values, PATIENCE).catch(() => undefined)
  }
}

function nodeOf({ host, port }: Place): string {
  return `the node ${host}:${port}`
}

function shardOf({ shard }: Place): string {
  return `the shard ${shard}`
}
