import { readFile } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { namesBy, type SymbolicRefs } from '../../../lib/domain/gate-rule.js'
import { errorMessage } from '../../../lib/errors.js'
import { pathIn, type Io } from '../terminal/io.js'
import { askGit, git, GateError } from './git.js'

/** A third of the time that node:fs/promises takes: there may be 100,000. */
const contentOf = promisify(readFile)

/** Files at a time. */
const AT_ONCE = 256

/**
 * The symbolic refs of the repository. Read from their files: git lists none whose target a push has yet to create.
 * @param asked names to ask git about, where refs are stored in another way than in files
 * @throws GateError when they cannot be determined
 */
export async function readSymbolicRefs(io: Io, asked: readonly string[]): Promise<SymbolicRefs> {
  const folder = pathIn(io, await git(io, 'rev-parse', '--git-common-dir'))
  const heads = await lstat(join(folder, 'refs/heads')).catch(() => undefined)
  if (!heads?.isDirectory()) return await listedByGit(io, asked)
  try {
    return await readFiles(folder)
  } catch (error) {
    throw new GateError(`the refs cannot be read: ${errorMessage(error)}`)
  }
}

/** All names of the place that a push to a ref changes: it may be a symbolic one, or have some that lead to it. */
export function namesOf({ env }: Io, ref: string, symbolic: SymbolicRefs): readonly string[] {
  const { GIT_NAMESPACE: namespace = '' } = env
  const spaces = namespace.split('/').filter((part) => part !== '')
  const stored = [...spaces.map((space) => `refs/namespaces/${space}/`), ref].join('')
  return namesBy(symbolic)(stored)
}

async function readFiles(folder: string): Promise<SymbolicRefs> {
  const targets = new Map<string, string>()
  const read = async ({ name, isLink }: RefFile): Promise<void> => {
    const target = await (isLink ? linkTarget(folder, name) : fileTarget(folder, name)).catch(nothingWhenGone)
    if (target !== undefined) targets.set(name, target)
  }
  const files = [{ name: 'HEAD', isLink: false }, ...(await filesBelow(folder, 'refs'))]
  for (let start = 0; start < files.length; start += AT_ONCE)
    await Promise.all(files.slice(start, start + AT_ONCE).map(read))
  return new Map([...targets].map(([name, target]) => [name, endOf(target, targets)]))
}

interface RefFile {
  readonly name: string
  readonly isLink: boolean
}

async function filesBelow(folder: string, name: string): Promise<RefFile[]> {
  const entries = await readdir(join(folder, name), { withFileTypes: true }).catch(nothingWhenGone)
  const found = (entries ?? []).map(async (entry) => {
    const below = `${name}/${entry.name}`
    if (entry.isDirectory()) return await filesBelow(folder, below)
    // From a pipe nothing might ever come.
    return entry.isFile() || entry.isSymbolicLink() ? [{ name: below, isLink: entry.isSymbolicLink() }] : []
  })
  return (await Promise.all(found)).flat()
}

/** What a ref names in place of an object; `undefined` when it is no symbolic one. */
async function fileTarget(folder: string, name: string): Promise<string | undefined> {
  return /^ref:\s*(\S+)/.exec(await contentOf(join(folder, name), 'utf8'))?.[1]
}

/** Links of the file system, as git made them once, lead on from the top, others from where they are. */
async function linkTarget(folder: string, name: string): Promise<string> {
  const target = await readlink(join(folder, name))
  return target.startsWith('refs/') ? target : join(dirname(name), target)
}

function endOf(ref: string, targets: ReadonlyMap<string, string>): string {
  const seen = new Set<string>()
  let end = ref
  // Nobody can push to those that lead to each other.
  for (let next = targets.get(end); next !== undefined && !seen.has(next); next = targets.get(end)) {
    seen.add(next)
    end = next
  }
  return end
}

/** Of those that lead to what is not there, git reports only when asked for each. */
async function listedByGit(io: Io, asked: readonly string[]): Promise<SymbolicRefs> {
  const format = '%(if)%(symref)%(then)%(refname) %(symref)%(end)'
  const listed = (await git(io, 'for-each-ref', `--format=${format}`)).split('\n').filter((line) => line !== '')
  const symbolic = new Map(listed.map((line) => [line.replace(/ .*/, ''), line.replace(/.* /, '')]))
  for (const ref of new Set(asked)) {
    const end = await askGit(io, 'symbolic-ref', '--quiet', ref)
    if (end !== undefined) symbolic.set(ref, end)
  }
  return symbolic
}

/** Other pushes go on meanwhile: where a branch was there may be a folder now, and where a folder was a branch. */
function nothingWhenGone(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EISDIR'].includes(error.code ?? '')) throw error
}
