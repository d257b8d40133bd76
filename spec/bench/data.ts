import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Level } from 'level'
import type { Report } from '../../lib/domain/commit-status.js'
import { toEntry } from '../../lib/store/level/status-record.js'
import { git } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'

/** Statuses that are written at once while a store is filled. */
const AT_ONCE = 10_000

/** Repositories and a store, made once and kept between runs. */
export interface Place {
  readonly repositories: string
  readonly store: string
}

/** A bare, public repository of many commits. */
export interface MadeRepository {
  readonly name: string
  readonly commits: readonly string[]
}

/** Makes a repository with so many commits in so many packs (0: each in a file of its own), unless it is there. */
export async function makeRepositoryOf(
  folder: string,
  name: string,
  commits: number,
  packs = 1,
): Promise<MadeRepository> {
  const directory = join(folder, `${name}.git`)
  const list = `${directory}.commits`
  if (!existsSync(list)) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(dirname(directory), { recursive: true })
    await git('init', '--quiet', '--bare', '--initial-branch=main', directory)
    writeFileSync(join(directory, 'git-daemon-export-ok'), '')
    const ids: string[][] = []
    const times = Math.max(1, packs)
    for (let pack = 0; pack < times; pack++)
      ids.push(await importCommits(directory, pack, Math.ceil(commits / times), packs === 0))
    writeFileSync(list, ids.flat().join('\n'))
  }
  return { name, commits: readFileSync(list, 'utf8').split('\n') }
}

/**
 * Commits without parents, as one pack.
 * @param isLoose whether each becomes a file of its own
 */
async function importCommits(directory: string, pack: number, count: number, isLoose: boolean): Promise<string[]> {
  const marks = join(directory, 'marks')
  const setting = `fastimport.unpackLimit=${isLoose ? 2 * count : 0}`
  const importer = spawn(
    'git',
    ['-C', directory, '-c', setting, 'fast-import', '--quiet', '--force', `--export-marks=${marks}`],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  const ended = once(importer, 'exit')
  for (let index = 1; index <= count; index++) {
    const text = `pack ${pack}, commit ${index}`
    const more = importer.stdin.write(
      `reset refs/heads/${pack}\n\ncommit refs/heads/${pack}\nmark :${index}\ncommitter A U Thor ` +
        `<author@example.com> ${1_700_000_000 + index} +0000\ndata ${text.length}\n${text}\n`,
    )
    if (!more) await once(importer.stdin, 'drain')
  }
  importer.stdin.end('done\n')
  await ended
  return readFileSync(marks, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(line.indexOf(' ') + 1))
}

export const CHECKS = [
  'build/linux',
  'build/macos',
  'build/windows',
  'test/unit',
  'test/integration',
  'test/browser',
  'lint',
  'licences',
  'coverage',
  'deploy/preview',
]

/** What a CI agent sends. */
export function realisticReport(index: number): Report {
  const context = CHECKS[index % CHECKS.length] ?? ''
  const run = 100_000 + Math.floor(index / CHECKS.length)
  return {
    context,
    state: index % 17 === 0 ? 'failure' : 'success',
    description: `${context} finished in ${1 + (index % 9)} min ${index % 60} s`,
    target_url: `https://ci.example.com/hello/runs/${run}/jobs/${index % CHECKS.length}`,
  }
}

/** Fills a store with ten statuses for each commit, unless it is there. `tell` hears how far it is. */
export async function fillStore(
  folder: string,
  { name, commits }: MadeRepository,
  tell: (done: number) => void,
): Promise<void> {
  const mark = `${folder}.filled`
  if (existsSync(mark)) return
  rmSync(folder, { recursive: true, force: true })
  await fill(folder, [name], commits, tell)
  writeFileSync(mark, '')
}

/** Ten statuses for each of these commits in each repository, written past the service and compacted. */
export async function fill(
  folder: string,
  names: readonly string[],
  commits: readonly string[],
  tell: (done: number) => void,
): Promise<void> {
  const level = new Level(folder)
  await level.open()
  let batch: { type: 'put'; key: string; value: string }[] = []
  let done = 0
  const at = new Date(1_790_000_000_000).toISOString()
  for (const repository of names.map(repositoryNamed)) {
    for (const sha of commits) {
      for (let check = 0; check < CHECKS.length; check++, done++) {
        const id = createHash('md5').update(String(done)).digest('base64url').slice(0, 12)
        const status = { id, sha, ...realisticReport(done), created_at: at, updated_at: at }
        batch.push({ type: 'put', ...toEntry(repository, status) })
      }
      if (batch.length < AT_ONCE) continue
      await level.batch(batch)
      batch = []
      tell(done)
    }
  }
  await level.batch(batch)
  await (level as unknown as { compactRange(from: string, to: string): Promise<void> }).compactRange('\u0000', '\uffff')
  await level.close()
}

/** Bytes of a store on disk. */
export function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(folder, entry.name)).size : 0),
    0,
  )
}
