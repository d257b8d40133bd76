import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Semaphore } from '../concurrency/semaphore.js'
import { MAX_DEPTH, nameAtPath, repositoryName, type RepositoryName } from '../domain/repository-name.js'
import { isAbsence } from './stat.js'

/** How long a listing may take: a disk may answer none of it, or a folder have no end. */
const MAX_MILLISECONDS = 60_000

/** Entries of folders that are looked at. */
const MAX_ENTRIES = 2_000_000

/** Made by mkfs at the top of a file system. */
const LOST = 'lost+found'

/** What makes a folder a bare repository whatever it is called, as git sees it. */
const BARE = ['HEAD', 'objects', 'refs']

const TOO_DEEP = `deeper than ${MAX_DEPTH} folders`

/** What lies in the folder as if it were a repository, and is not served. */
export interface Skipped {
  /** Below the folder of the repositories; empty: that folder itself. */
  readonly path: string
  /** For people. */
  readonly reason: string
}

export interface Listing {
  /** In the order of owner and name. */
  readonly found: readonly Found[]
  readonly skipped: readonly Skipped[]
}

export interface Found {
  readonly name: RepositoryName
  /** Absolute. */
  readonly directory: string
}

export interface ListingOptions {
  /** Owns the repositories that stand at the top of the folder. */
  readonly topOwner: string
  /** Whose repositories alone are looked for. */
  readonly owner?: string | undefined
  /** How long it may take, and how many entries of folders are looked at. */
  readonly milliseconds?: number
  readonly maxEntries?: number
  /** Called for what cannot be read; what it throws ends the listing. */
  readonly onUnreadable: (error: unknown) => void
  /** Lets one listing of the folder at a time to the disk, until the disk has answered. */
  readonly turn?: Semaphore
}

/** A turn that any number may wait for. */
export const newTurn = (): Semaphore => new Semaphore(1, Infinity)

/**
 * Lists what is a repository below a folder, and what looks like one, without a look into those that are called
 * `.git`. One folder is read after the other, and with a turn one listing after the other: a disk that hangs takes no
 * more than one thread.
 */
export async function listRepositories(folder: string, options: ListingOptions): Promise<Listing> {
  const { milliseconds = MAX_MILLISECONDS, turn = newTurn() } = options
  const reading = new Reading(folder, options)
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      reading.end()
      reject(new Error(`to list the repositories of ${folder} takes longer than ${milliseconds / 1000} s`))
    }, milliseconds).unref()
  })
  try {
    // Those at the top have no folder of their owner.
    const start = options.owner === undefined || options.owner === options.topOwner ? [] : [options.owner]
    await Promise.race([reading.inTurn(turn, start), tooLate])
  } finally {
    clearTimeout(late)
  }
  return reading.listing()
}

/** Of what is not served, this many are named. */
export const MAX_SKIPPED = 20

/** What is not served, and why, in a line for people. */
export function skippedText(skipped: readonly Skipped[]): string {
  const named = skipped.slice(0, MAX_SKIPPED).map(({ path, reason }) => `${JSON.stringify(path)} (${reason})`)
  const more = skipped.length > MAX_SKIPPED ? [`and ${(skipped.length - MAX_SKIPPED).toLocaleString('en')} more`] : []
  return `not served: ${[...named, ...more].join(', ')}`
}

/** A place where a repository stands: of two with one name, the lower rank is meant. */
interface Candidate extends Found {
  readonly path: string
  readonly rank: number
}

class Reading {
  readonly #folder: string
  readonly #options: ListingOptions
  readonly #candidates: Candidate[] = []
  readonly #skipped: Skipped[] = []
  #entries = 0
  #isEnded = false

  constructor(folder: string, options: ListingOptions) {
    this.#folder = folder
    this.#options = options
  }

  end(): void {
    this.#isEnded = true
  }

  listing(): Listing {
    const byName = new Map<string, Candidate>()
    const skipped = [...this.#skipped]
    for (const candidate of this.#candidates.sort((one, other) => one.rank - other.rank)) {
      const winner = byName.get(candidate.name.full)
      if (winner) skipped.push({ path: candidate.path, reason: `${winner.path} has its name, ${winner.name.full}` })
      else byName.set(candidate.name.full, candidate)
    }
    const found = [...byName.values()].filter(({ name }) => (this.#options.owner ?? name.owner) === name.owner)
    return { found: found.sort(inOrder), skipped }
  }

  async inTurn(turn: Semaphore, parts: readonly string[]): Promise<void> {
    await turn.enter()
    try {
      if (!this.#isEnded) await this.into(parts)
    } finally {
      turn.leave()
    }
  }

  /** @param parts of the path below the folder */
  async into(parts: readonly string[]): Promise<void> {
    const path = parts.join('/')
    const entries = await this.#read(path)
    const names = new Set(entries.map(({ name }) => name))
    if (BARE.every((name) => names.has(name))) {
      if (parts.length > 0) this.#add(parts, path, false)
      else this.#skip('', 'it is a repository itself, in which no others are looked for')
      return
    }
    if (names.has('.git') && parts.length > 0) {
      this.#skip(path, 'a working tree, not a bare repository')
      return
    }
    for (const entry of entries) {
      if (this.#isEnded) return
      const inner = [...parts, entry.name]
      const isOther = entry.name === '.git' || path + entry.name === LOST
      if (!isOther && (await this.#isFolder(entry, inner.join('/')))) await this.#look(entry, inner)
    }
  }

  /** Looks at a folder in a folder. */
  async #look(entry: Dirent, parts: readonly string[]): Promise<void> {
    const path = parts.join('/')
    const isNamed = entry.name.endsWith('.git')
    const problem = problemOf(isNamed ? entry.name.slice(0, -'.git'.length) : entry.name)
    if (problem === undefined && isNamed)
      this.#add([...parts.slice(0, -1), entry.name.slice(0, -'.git'.length)], path, true)
    else if (problem !== undefined) await this.#noteUnnamed(path, isNamed, problem)
    else if (parts.length > MAX_DEPTH) await this.#noteUnnamed(path, false, TOO_DEEP)
    else if (!entry.isSymbolicLink() || !(await this.#leadsBack(path))) await this.into(parts)
  }

  #add(parts: readonly string[], path: string, isNamed: boolean): void {
    const name = nameAtPath(parts.join('/'), this.#options.topOwner)
    const rank = rankOf(parts.length, isNamed)
    if (name) this.#candidates.push({ name, directory: join(this.#folder, path), path, rank })
    else this.#skip(path, TOO_DEEP)
  }

  /** What has a name that no repository has is worth a word where it may be one, or holds some. */
  async #noteUnnamed(path: string, isNamed: boolean, problem: string): Promise<void> {
    const inner = isNamed ? [] : await this.#read(path)
    const names = new Set(inner.map(({ name }) => name))
    const isMeant = isNamed || names.has('.git') || BARE.every((name) => names.has(name))
    if (isMeant || inner.some(({ name }) => name.endsWith('.git'))) this.#skip(path, problem)
  }

  /** What is in a folder, in order; nothing where it cannot be read, or has gone. */
  async #read(path: string): Promise<readonly Dirent[]> {
    try {
      const entries = await readdir(join(this.#folder, path), { withFileTypes: true })
      this.#entries += entries.length
      const { maxEntries = MAX_ENTRIES } = this.#options
      if (this.#entries > maxEntries && !this.#isEnded) {
        this.#isEnded = true
        this.#skip(path, `more than ${maxEntries.toLocaleString('en')} files and folders: what follows is left out`)
      }
      return entries.sort((one, other) => Number(one.name > other.name) - Number(one.name < other.name))
    } catch (error) {
      if (path === '') throw error
      this.#unreadable(path, error)
      return []
    }
  }

  async #isFolder(entry: Dirent, path: string): Promise<boolean> {
    if (!entry.isSymbolicLink()) return entry.isDirectory()
    try {
      return (await stat(join(this.#folder, path))).isDirectory()
    } catch (error) {
      this.#unreadable(path, error)
      return false
    }
  }

  /** Whether a link leads to a folder that it is in itself: it would be followed without an end. */
  async #leadsBack(path: string): Promise<boolean> {
    const [target, from] = await Promise.all([
      realpath(join(this.#folder, path)),
      realpath(join(this.#folder, path, '..')),
    ])
    return `${from}/`.startsWith(`${target}/`)
  }

  #unreadable(path: string, error: unknown): void {
    if (isAbsence(error)) return
    this.#options.onUnreadable(error)
    this.#skip(path, 'it cannot be read by the user of the service')
  }

  #skip(path: string, reason: string): void {
    this.#skipped.push({ path, reason })
  }
}

function rankOf(depth: number, isNamed: boolean): number {
  if (!isNamed) return depth === 1 ? 5 : 4
  return depth === 2 ? 1 : depth === 1 ? 2 : 3
}

function inOrder({ name: one }: Found, { name: other }: Found): number {
  if (one.owner !== other.owner) return one.owner < other.owner ? -1 : 1
  return one.name < other.name ? -1 : 1
}

/** Why a folder's name can be no part of a repository's; `undefined`: it can. */
function problemOf(name: string): string | undefined {
  if (repositoryName('x', name)) return undefined
  const [sign] = /[^\w.+@~,=-]/.exec(name) ?? []
  if (sign === ' ') return 'a blank in its name'
  if (sign !== undefined) return `${JSON.stringify(sign)} in its name`
  if (/^[.-]/.test(name)) return `its name begins with ${name.slice(0, 1)}`
  return name.length > 100 ? 'its name is longer than 100 characters' : 'its name ends in .git or .lock'
}
