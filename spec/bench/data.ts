import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Level } from 'level'
import type { Report } from '../../lib/commit-status.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { parseObjectId } from '../../lib/object-id.js'
import { git } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'

/** How many reports are on their way at once while a store is filled. */
const AT_ONCE = 5000

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

/** Makes a repository with so many commits in so many packs, unless it is there. */
export async function makeRepositoryOf(folder: string, name: string, commits: number, packs = 1): Promise<MadeRepository> {
  const directory = join(folder, `${name}.git`)
  const list = `${directory}.commits`
  if (!existsSync(list)) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(dirname(directory), { recursive: true })
    await git('init', '--quiet', '--bare', '--initial-branch=main', directory)
    writeFileSync(join(directory, 'git-daemon-export-ok'), '')
    const ids: string[][] = []
    for (let pack = 0; pack < packs; pack++) ids.push(await importCommits(directory, pack, Math.ceil(commits / packs)))
    writeFileSync(list, ids.flat().join('\n'))
  }
  return { name, commits: readFileSync(list, 'utf8').split('\n') }
}

/** Commits without parents, as one pack. */
async function importCommits(directory: string, pack: number, count: number): Promise<string[]> {
  const marks = join(directory, 'marks')
  const importer = spawn('git', ['-C', directory, '-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet', '--force', `--export-marks=${marks}`], { stdio: ['pipe', 'inherit', 'inherit'] })
  const ended = once(importer, 'exit')
  for (let index = 1; index <= count; index++) {
    const text = `pack ${pack}, commit ${index}`
    const more = importer.stdin.write(`reset refs/heads/${pack}\n\ncommit refs/heads/${pack}\nmark :${index}\ncommitter A U Thor <author@example.com> ${1_700_000_000 + index} +0000\ndata ${text.length}\n${text}\n`)
    if (!more) await once(importer.stdin, 'drain')
  }
  importer.stdin.end('done\n')
  await ended
  return readFileSync(marks, 'utf8').trimEnd().split('\n').map((line) => line.slice(line.indexOf(' ') + 1))
}

const CHECKS = ['build/linux', 'build/macos', 'build/windows', 'test/unit', 'test/integration', 'test/browser', 'lint', 'licences', 'coverage', 'deploy/preview']

/** What a CI agent sends. */
export function realisticReport(index: number): Report {
  const context = CHECKS[index % CHECKS.length] ?? ''
  const run = 100_000 + Math.floor(index / CHECKS.length)
  return { context, state: index % 17 === 0 ? 'failure' : 'success', description: `${context} finished in ${1 + (index % 9)} min ${index % 60} s`, target_url: `https://ci.example.com/hello/runs/${run}/jobs/${index % CHECKS.length}` }
}

/** Fills a store with ten statuses for each commit, and compacts it, unless it is there. `tell` hears how far it is. */
export async function fillStore(folder: string, { name, commits }: MadeRepository, tell: (done: number) => void): Promise<void> {
  const mark = `${folder}.filled`
  if (existsSync(mark)) return
  rmSync(folder, { recursive: true, force: true })
  const store = await LevelStore.open(folder)
  const repository = repositoryNamed(name)
  const total = commits.length * CHECKS.length
  for (let start = 0; start < total; start += AT_ONCE) {
    const one = async (_: unknown, offset: number): Promise<void> => {
      const commit = parseObjectId(commits[Math.floor((start + offset) / CHECKS.length)] ?? '')
      if (commit) await store.statuses.save(repository, commit, realisticReport(start + offset), 1_790_000_000_000 + start + offset)
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, total - start) }, one))
    tell(start + AT_ONCE)
  }
  await store.close()
  const level = new Level(folder)
  await level.open()
  await (level as unknown as { compactRange(from: string, to: string): Promise<void> }).compactRange('\u0000', '\uffff')
  await level.close()
  writeFileSync(mark, '')
}

/** Bytes of a store on disk. */
export function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => sum + (entry.isFile() ? statSync(join(folder, entry.name)).size : 0), 0)
}
