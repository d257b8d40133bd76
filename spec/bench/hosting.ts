import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CHECKS, fill, makeRepositoryOf, type Place } from './data.js'
import type { Setting } from './setting.js'

/** A git server: many repositories, each with the same few commits. */
export interface Hosting extends Place {
  /** `owner/repo` */
  readonly names: readonly string[]
  readonly commits: readonly string[]
}

const COMMITS = 20

/** How a repository has its commits: each in a file, or all in a pack. */
export type Objects = 'loose' | 'packed'

/** File systems allow only so many links to one file (ext4 65,000): after so many it is copied anew. */
const MAX_LINKS = 10_000

/** Repositories of an owner. */
const OWNER_HAS = 100

/**
 * Makes a git server, unless it is there: folders of their own for each repository, and the files linked.
 * @param reported commits of each repository that have ten statuses
 */
export async function hostingOf(
  { folder, tell }: Setting,
  count: number,
  reported: number,
  objects: Objects = 'packed',
): Promise<Hosting> {
  const repositories = join(folder, `hosting-${count}-${objects}`)
  const store = join(folder, `hosting-store-${count}-${reported}`)
  const template = join(folder, `hosting-template-${objects}`)
  const { commits } = await makeRepositoryOf(template, 'alice/hello', COMMITS, objects === 'packed' ? 1 : 0)
  const names = Array.from({ length: count }, (_, index) => `owner-${Math.floor(index / OWNER_HAS)}/repo-${index}`)
  if (!existsSync(`${repositories}.made`)) {
    tell(`making ${count} repositories`)
    rmSync(repositories, { recursive: true, force: true })
    const made = new Template(join(template, 'alice/hello.git'), join(repositories, '.links'))
    for (const name of names) made.make(join(repositories, `${name}.git`))
    writeFileSync(`${repositories}.made`, '')
  }
  if (!existsSync(`${store}.made`)) {
    tell(`making ${count * reported * CHECKS.length} statuses`)
    rmSync(store, { recursive: true, force: true })
    await fill(store, names, commits.slice(0, reported), () => undefined)
    writeFileSync(`${store}.made`, '')
  }
  return { repositories, store, names, commits }
}

/** A bare repository to make others of. */
class Template {
  readonly #links: string
  readonly #files = new Map<string, Buffer>()
  readonly #folders: string[] = []
  #made = 0

  constructor(directory: string, links: string) {
    this.#links = links
    for (const path of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
      if (/^(?:hooks|info|branches|marks|description)\b/.test(path)) continue
      try {
        this.#files.set(path, readFileSync(join(directory, path)))
      } catch {
        this.#folders.push(path)
      }
    }
  }

  make(directory: string): void {
    const links = join(this.#links, String(Math.floor(this.#made++ / MAX_LINKS)))
    if (!existsSync(links)) {
      for (const [path, bytes] of this.#files) {
        mkdirSync(dirname(join(links, path)), { recursive: true })
        writeFileSync(join(links, path), bytes)
      }
    }
    mkdirSync(directory, { recursive: true })
    for (const path of this.#folders) mkdirSync(join(directory, path))
    for (const path of this.#files.keys()) linkSync(join(links, path), join(directory, path))
  }
}
