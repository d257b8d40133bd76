import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import type { Repository } from '../contracts/repositories.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitEnd, GitProcesses } from './git-process.js'
import { LogRecords } from './log-records.js'

/** What people want to know of a commit. Texts are as somebody pushed them. */
export interface LoggedCommit {
  readonly sha: string
  readonly author: string
  /** When it was authored: ISO 8601 with the author's own time zone. */
  readonly time: string
  /** The first paragraph of the message on one line, cut after 200 columns or 600 bytes. */
  readonly subject: string
  /** Of one that is read alone: the ids of its parents, the first of them. */
  readonly parents?: readonly string[]
  /** Of one that is read alone: the lines of its message behind the subject, the first of them, each of 600 bytes. */
  readonly body?: readonly string[]
}

/** Of the ids that begin alike: some hundred. */
const MAX_IDS_BYTES = 8_192

/** To pass over more commits may take git a while. */
const QUICK_SKIP = 10_000

/** git cuts the texts by columns, so that what is of any length is mostly not printed. */
const FORMAT = '%H%n%<(100,trunc)%an%n%aI%n%<(200,trunc)%s'

/** Of a history: the latest commits, among which children are looked for, and what git prints of them. */
const MAX_YOUNG = 1_000
const MAX_YOUNG_BYTES = 1_048_576

/** Commits whose children are remembered, at a time of their history. */
const MAX_KNOWN_CHILDREN = 2_000

/** Of one commit: a line of parents, then the message. */
const FORMAT_ALONE = `${FORMAT}%n%P%n%b`

/** Of what is printed of one commit. */
const MAX_LINES = 100

/** Reads what commits say, through the installed git. */
export class CommitLog {
  readonly #git: Pick<GitProcesses, 'run' | 'read'>
  /** Pages of a log, and single commits, by their ids: what an id names never changes. */
  readonly #known: LRUCache<string, readonly LoggedCommit[]>

  /** By a history and a commit in it: these do not change either. */
  readonly #children = new LRUCache<string, readonly string[]>({ max: MAX_KNOWN_CHILDREN })

  /** @param cacheBytes of what is remembered */
  constructor(git: Pick<GitProcesses, 'run' | 'read'>, meter: Meter = noopMeter, cacheBytes = cacheShares().logs) {
    this.#git = git
    this.#known = new LRUCache({ maxSize: cacheBytes, sizeCalculation: bytesOf })
    meter.cacheSize('logs', () => this.#known.calculatedSize)
  }

  /**
   * A commit and its ancestors, the latest first.
   * @param start a commit that is there
   * @param range.skip how many are passed over
   * @throws RepositoryUnreadable, ServiceError `overloaded`
   */
  async list(
    repository: Repository,
    start: ObjectId,
    { skip, limit }: { skip: number; limit: number },
  ): Promise<readonly LoggedCommit[]> {
    const { directory, identity } = repository
    const key = `${identity ?? ''}\n${directory}\n${start.hex} ${skip} ${limit}`
    const known = identity === undefined ? undefined : this.#known.get(key)
    if (known) return known
    const found = await this.#read(directory, [`--max-count=${limit}`, `--skip=${skip}`, start.hex], {
      mayTakeLong: skip > QUICK_SKIP,
    })
    if (identity !== undefined) this.#known.set(key, found)
    return found
  }

  /**
   * One commit, `undefined` for what is none.
   * @throws as `list`
   */
  async one({ directory, identity }: Repository, commit: ObjectId): Promise<LoggedCommit | undefined> {
    const key = `${identity ?? ''}\n${directory}\n${commit.hex}`
    const known = identity === undefined ? undefined : this.#known.get(key)
    if (known) return known[0]
    const [found] = await this.#read(directory, ['--max-count=1', commit.hex], { format: FORMAT_ALONE })
    if (found && identity !== undefined) this.#known.set(key, [found])
    return found
  }

  /**
   * The commits that come next after one, where they are among the latest thousand of a history.
   * @param start the latest commit of the history
   * @returns their ids
   * @throws as `list`
   */
  async childrenOf(
    { directory, identity = '' }: Repository,
    start: ObjectId,
    parent: ObjectId,
  ): Promise<readonly string[]> {
    const key = `${identity}\n${directory}\n${start.hex} ${parent.hex}`
    const known = this.#children.get(key)
    if (known) return known
    const args = ['rev-list', '--parents', `--max-count=${MAX_YOUNG}`, start.hex, '--']
    const { output, ...ended } = await this.#git.run(directory, args, MAX_YOUNG_BYTES)
    refuseFailed(directory, ended)
    const lines = output.toString('latin1').split('\n')
    const found = lines.filter((line) => line.includes(` ${parent.hex}`)).map((line) => line.replace(/ .*/, ''))
    this.#children.set(key, found)
    return found
  }

  /**
   * The objects whose ids begin with these digits.
   * @param digits four at least, hexadecimal
   * @throws as `list`, and when there are very many
   */
  async objectsBeginning({ directory }: Repository, digits: string): Promise<readonly ObjectId[]> {
    const { output, ...ended } = await this.#git.run(
      directory,
      ['rev-parse', `--disambiguate=${digits}`],
      MAX_IDS_BYTES,
    )
    refuseFailed(directory, ended)
    const ids = output.toString().split('\n').map(parseObjectId)
    return ids.filter((id) => id !== undefined)
  }

  async #read(
    directory: string,
    range: readonly string[],
    { format = FORMAT, mayTakeLong = false },
  ): Promise<LoggedCommit[]> {
    const args = ['log', '-z', '--no-color', '--encoding=UTF-8', `--format=tformat:${format}`, ...range, '--']
    const found = new LogRecords(MAX_LINES)
    const take = (chunk: Buffer): undefined => {
      found.take(chunk)
    }
    const ended = await this.#git.read(directory, args, take, { mayTakeLong })
    refuseFailed(directory, ended)
    return found.records.map(([sha = '', author = '', time = '', subject = '', parents, ...body]) => ({
      ...{ sha, author, time, subject },
      // An id that was cut is none.
      ...(parents !== undefined && {
        parents: parents.split(' ').filter((id) => parseObjectId(id)),
        body: trimmed(body),
      }),
    }))
  }
}

/** Without the empty lines at the end. */
function trimmed(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
}

/** About what commits take in memory. */
function bytesOf(commits: readonly LoggedCommit[], key: string): number {
  return commits.reduce(
    (sum, { sha, author, time, subject, parents = [], body = [] }) =>
      [...parents, ...body].reduce(
        (length, text) => length + 50 + 2 * text.length,
        sum + 300 + sha.length + time.length + 2 * (author.length + subject.length),
      ),
    200 + key.length,
  )
}

function refuseFailed(directory: string, { code, error }: GitEnd): void {
  if (code !== 0) throw new RepositoryUnreadable(directory, new Error(`git: ${error}`))
}
