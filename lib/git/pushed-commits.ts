import type { PushContents, PushedCommit, PushedFiles } from '../contracts/hooks.js'
import { HEADS, isNothing, type PushedRef } from '../domain/push.js'
import type { CommitContents } from './commit-content.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'

/** The most commits of a push that are read, the latest ones; and that are counted. */
const [MAX_COMMITS, MAX_COUNTED] = [20, 10_000]

/** Of an id and the end of its line. */
const ID_BYTES = 65

/** Names of files, of all commits of a push: those of more are left out. */
const MAX_NAMES_BYTES = 256 * 1024

/** Reads what pushes brought, through the installed git. */
export class PushedCommits {
  readonly #git: Pick<GitProcesses, 'run' | 'read'>
  readonly #contents: Pick<CommitContents, 'list'>

  constructor(git: Pick<GitProcesses, 'run' | 'read'>, contents: Pick<CommitContents, 'list'>) {
    this.#git = git
    this.#contents = contents
  }

  /**
   * What came to a branch, of a new one what no other branch has; of a tag no more than what it names. Without what is
   * not there any more.
   * @param directory absolute path of a bare repository
   * @param pushed with full ids
   * @throws RepositoryUnreadable, ServiceError `overloaded`
   */
  async of(directory: string, pushed: PushedRef): Promise<PushContents> {
    const { ref, before, after } = pushed
    if (isNothing(after)) return { commits: [], total: 0, forced: false }
    const isBranch = ref.startsWith(HEADS)
    const ids = isBranch ? await this.#idsOf(directory, pushed) : []
    const tip = isBranch ? after : await this.#commitAt(directory, after)
    const latest = ids.slice(0, MAX_COMMITS).reverse()
    const read = await this.#read(directory, tip === undefined ? latest : [...new Set([...latest, tip])])
    const head = read.find(({ id }) => id === tip)
    return {
      commits: read.filter(({ id }) => latest.includes(id)),
      total: ids.length,
      forced: !isNothing(before) && (!isBranch || (await this.#hasLost(directory, before, after))),
      ...(head && { head }),
    }
  }

  /** The commits that came, the latest first. */
  async #idsOf(directory: string, { ref, before, after }: PushedRef): Promise<string[]> {
    const others = isNothing(before) ? ['--not', `--exclude=${ref.slice(HEADS.length)}`, '--branches'] : [`^${before}`]
    const args = ['rev-list', `--max-count=${MAX_COUNTED}`, after, ...others, '--']
    const { code, output } = await this.#git.run(directory, args, MAX_COUNTED * ID_BYTES)
    return code === 0
      ? output
          .toString('latin1')
          .split('\n')
          .filter((id) => id !== '')
      : []
  }

  /** The commit that a tag leads to, if it leads to one that is there. */
  async #commitAt(directory: string, id: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', `${id}^{commit}`]
    const { code, output } = await this.#git.run(directory, args, ID_BYTES)
    return code === 0 ? output.toString('latin1').trim() : undefined
  }

  /** Whether a branch has no longer what it had. */
  async #hasLost(directory: string, before: string, after: string): Promise<boolean> {
    return (await this.#git.run(directory, ['merge-base', '--is-ancestor', before, after], ID_BYTES)).code === 1
  }

  async #read(directory: string, ids: readonly string[]): Promise<PushedCommit[]> {
    const files = await this.#filesOf(directory, ids)
    const commits = await this.#contents.list(
      directory,
      ids.map((id) => ({ id })),
    )
    return commits.map(({ id, content }) => ({ id, ...content, ...files.get(id) }))
  }

  /** The files that each commit changes beside its parent; of a merge none are told. */
  async #filesOf(directory: string, ids: readonly string[]): Promise<ReadonlyMap<string, PushedFiles>> {
    const printed: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer): string | undefined => {
      printed.push(chunk)
      length += chunk.length
      return length > MAX_NAMES_BYTES ? `git printed more than ${MAX_NAMES_BYTES} bytes` : undefined
    }
    const args = ['diff-tree', '--stdin', '-r', '--root', '--name-status', '--no-renames', '--no-ext-diff', '-z']
    await this.#git.read(directory, args, take, { input: `${ids.join('\n')}\n` }).catch((error: unknown) => {
      if (!(error instanceof RepositoryUnreadable) || length <= MAX_NAMES_BYTES) throw error
    })
    return filesIn(Buffer.concat(printed).subarray(0, MAX_NAMES_BYTES))
  }
}

/** For each file a letter and a name, before the first one of a commit its id; a part of one is left out. */
const FILE = /(?:([0-9a-f]{40,64})\0)?([A-Z])\0([^\0]+)\0/gy

function filesIn(printed: Buffer): ReadonlyMap<string, PushedFiles> {
  const found = new Map<string, PushedFiles>()
  let files = noFiles()
  for (const [, id, letter, name = ''] of printed.toString().matchAll(FILE)) {
    if (id !== undefined) {
      files = noFiles()
      found.set(id, files)
    }
    // A file that became a link, say, is modified, too.
    const list = letter === 'A' ? files.added : letter === 'D' ? files.removed : files.modified
    list.push(name)
  }
  return found
}

function noFiles(): { added: string[]; modified: string[]; removed: string[] } {
  return { added: [], modified: [], removed: [] }
}
