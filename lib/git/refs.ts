import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { Repository } from '../contracts/repositories.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'
import { fullRefNames, isRefName } from './ref-name.js'

/** How long a ref may be remembered. */
const REF_MILLISECONDS = 2_000

/** About what a ref takes in memory besides its names. */
const REF_BYTES = 400

/** How often the clock is looked at, which is dear. */
const CLOCK_MILLISECONDS = 100

/** The most bytes of an answer that is a line or two. */
const MAX_BYTES = 8_192

/** What git says, at the end, of a name that is none of its refs. */
const UNKNOWN = 'not a valid ref'

/** All that git says of a ref to what it does not find, which may only not be readable: who confirms commits knows. */
const LEADS_NOWHERE = /^fatal: git show-ref: bad ref \S+ \(([0-9a-f]+)\)$/

/**
 * Reads the refs of bare repositories, through the installed git: it knows every way to store them. Read are the
 * repository's own names, never revisions: no range, abbreviated id or option.
 */
export class Refs {
  readonly #git: Pick<GitProcesses, 'run'>
  /** Those that are read at the moment are promises. */
  readonly #known: LRUCache<string, Promise<string | undefined> | { readonly name: string | undefined }>

  /** @param cacheBytes of refs that are remembered */
  constructor(git: Pick<GitProcesses, 'run'>, meter: Meter = noopMeter, cacheBytes = cacheShares().refs) {
    this.#git = git
    this.#known = new LRUCache({
      maxSize: cacheBytes,
      sizeCalculation: (known, key) =>
        REF_BYTES + key.length + (known instanceof Promise ? 0 : (known.name?.length ?? 0)),
      ttl: REF_MILLISECONDS - CLOCK_MILLISECONDS,
      ttlResolution: CLOCK_MILLISECONDS,
    })
    meter.cacheSize('refs', () => this.#known.calculatedSize)
  }

  /**
   * What a ref points at, annotated tags peeled: as it was two seconds ago at most. It may be something else than a
   * commit, or not be there.
   * @param name of a branch or tag, short or full, or `HEAD`
   * @returns `undefined` for a ref that is not there, and for what cannot be the name of one
   * @throws RepositoryUnreadable when it cannot be determined, after 5 seconds at most; ServiceError `overloaded`
   */
  async resolve(repository: Repository, name: string): Promise<ObjectId | undefined> {
    if (!isRefName(name)) return undefined
    return parseObjectId(await this.#remembered(repository, name, () => this.#look(repository, name)))
  }

  /**
   * The id that a ref has, an annotated tag's own: as it was two seconds ago at most.
   * @param name its full one
   * @returns `undefined`, and throws, as `resolve`
   */
  async exact(repository: Repository, name: string): Promise<string | undefined> {
    if (!isRefName(name)) return undefined
    return await this.#remembered(repository, ` exact ${name}`, async () =>
      (await this.#show(repository, name))?.at(0)?.replace(/ .*/, ''),
    )
  }

  /**
   * The branch that HEAD names, whether or not it has a commit; as it was two seconds ago at most. At once where it is
   * remembered.
   * @returns its short name; `undefined` when HEAD names none, or cannot be read
   */
  defaultBranch(repository: Repository): MaybePromise<string | undefined> {
    const name = this.#remembered(repository, ' HEAD', () => this.#symbolic(repository))
    return name instanceof Promise ? name.then(shortName, () => undefined) : shortName(name)
  }

  /** To be called when repositories were deleted or renamed. */
  forget(): void {
    this.#known.clear()
  }

  async #look(repository: Repository, name: string): Promise<string | undefined> {
    for (const full of fullRefNames(name)) {
      const lines = await this.#show(repository, full)
      // Of a tag there are two: its own, then the one of what it names.
      if (lines) return lines.at(-1)?.replace(/ .*/, '')
    }
    return undefined
  }

  async #show({ directory }: Repository, full: string): Promise<readonly string[] | undefined> {
    const args = ['show-ref', '--verify', '--dereference', '--', full]
    const { code, output, error } = await this.#git.run(directory, args, MAX_BYTES)
    if (code === 0) return output.toString().trimEnd().split('\n')
    const [, id] = LEADS_NOWHERE.exec(error) ?? []
    if (id !== undefined) return [id]
    if (!error.endsWith(UNKNOWN)) throw new RepositoryUnreadable(directory, new Error(`git show-ref: ${error}`))
    return undefined
  }

  async #symbolic({ directory }: Repository): Promise<string | undefined> {
    const head = await readHead(join(directory, 'HEAD'))
    // git writes this so that older versions notice that the refs are stored in another way.
    if (head !== undefined && head !== 'refs/heads/.invalid') return head
    const { code, output } = await this.#git.run(directory, ['symbolic-ref', '--quiet', 'HEAD'], MAX_BYTES)
    return code === 0 ? output.toString().trimEnd() : undefined
  }

  /** Whoever asks while it is under way shares the answer. */
  #remembered(
    { directory, identity = '' }: Repository,
    name: string,
    look: () => Promise<string | undefined>,
  ): MaybePromise<string | undefined> {
    const key = `${identity}\n${directory}\n${name}`
    const known = this.#known.get(key)
    if (known) return known instanceof Promise ? known : known.name
    const found = look()
    this.#known.set(key, found)
    const isLatest = (): boolean => this.#known.get(key) === found
    found.then(
      (name) => isLatest() && this.#known.set(key, { name }, { noUpdateTTL: true }),
      () => isLatest() && this.#known.delete(key),
    )
    return found
  }
}

function shortName(name: string | undefined): string | undefined {
  return name?.replace(/^refs\/heads\//, '')
}

/** What HEAD says, in less time than it takes to start git. `undefined`: git has to be asked. */
async function readHead(path: string): Promise<string | undefined> {
  // A pipe would be waited for, and a link could lead to one.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(() => undefined)
  if (!file) return undefined
  try {
    if (!(await file.stat()).isFile()) return undefined
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(1024) })
    const [, name] = /^ref: *(refs\/heads\/\S+)\s*$/.exec(buffer.toString('utf8', 0, bytesRead)) ?? []
    return name
  } finally {
    await file.close()
  }
}
