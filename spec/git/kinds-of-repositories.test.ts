// The kinds of repositories that config/README.md has in a table.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { CommitLog } from '../../lib/git/commit-log.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { isTooOld, neededGit } from '../../lib/git/needed-git.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { Refs } from '../../lib/git/refs.js'
import { makeFinder, unknownId } from '../fixtures/finder.js'
import { git, makeCommit } from '../fixtures/git.js'
import { chapter, pageText } from '../fixtures/page.js'

const installed = await git('version')
const skipBefore = (version: string, words: string) => isTooOld(installed, { extension: '', version }) && words
const noReftable = skipBefore('2.45', 'this git knows no reftable')

const initialised = async (folder: string, ...options: string[]): Promise<string> => {
  const directory = join(folder, 'repository.git')
  await git('init', '--quiet', '--bare', '--initial-branch=main', ...options, directory)
  return directory
}
const set = async (directory: string, key: string, value: string): Promise<void> => {
  await git('config', '--file', join(directory, 'config'), key, value)
}
const extended = async (directory: string, extension: string, value: string): Promise<string> => {
  await set(directory, 'core.repositoryFormatVersion', '1')
  await set(directory, `extensions.${extension}`, value)
  return directory
}
/** A repository with two commits, and a bare clone of it. */
const cloned = async (folder: string, ...options: string[]): Promise<string> => {
  const source = join(folder, 'source.git')
  await git('init', '--quiet', '--bare', '--initial-branch=main', source)
  await set(source, 'uploadpack.allowFilter', 'true')
  for (const message of ['one', 'two']) await makeCommit(source, message)
  const directory = join(folder, 'repository.git')
  await git(
    'clone',
    '--quiet',
    '--bare',
    ...options,
    options.includes('--shared') ? source : `file://${source}`,
    directory,
  )
  return directory
}

interface Kind {
  /** As the table calls it. */
  readonly name: string
  readonly needs?: string
  /** Of one whose config does not say what it needs. */
  readonly isUnsaid?: true
  readonly skip?: string | false
  readonly make: (folder: string) => Promise<string>
  readonly isShallow?: true
}

const kinds: readonly Kind[] = [
  { name: 'SHA-1', make: async (folder) => await initialised(folder) },
  { name: 'SHA-256', needs: '2.29', make: async (folder) => await initialised(folder, '--object-format=sha256') },
  {
    name: 'reftable, SHA-1',
    needs: '2.45',
    skip: noReftable,
    make: async (folder) => await initialised(folder, '--ref-format=reftable'),
  },
  {
    name: 'reftable, SHA-256',
    needs: '2.45',
    skip: noReftable,
    make: async (folder) => await initialised(folder, '--ref-format=reftable', '--object-format=sha256'),
  },
  {
    name: 'compatObjectFormat',
    needs: '2.45',
    skip: skipBefore('2.45', 'this git knows no compatObjectFormat'),
    make: async (folder) =>
      await extended(await initialised(folder, '--object-format=sha256'), 'compatObjectFormat', 'sha1'),
  },
  {
    name: 'partial clone',
    needs: '2.17',
    isUnsaid: true,
    make: async (folder) => await cloned(folder, '--filter=tree:0'),
  },
  { name: 'shallow clone', make: async (folder) => await cloned(folder, '--depth=1'), isShallow: true },
  { name: 'alternates', make: async (folder) => await cloned(folder, '--shared') },
  {
    name: 'multi-pack index',
    make: async (folder) => {
      const directory = await initialised(folder)
      for (const message of ['one', 'two']) {
        await makeCommit(directory, message)
        await git('-C', directory, 'repack', '-dq')
      }
      await git('-C', directory, 'multi-pack-index', 'write')
      return directory
    },
  },
  {
    name: 'preciousObjects',
    needs: '2.7',
    make: async (folder) => await extended(await initialised(folder), 'preciousObjects', 'true'),
  },
  {
    name: 'relativeWorktrees',
    needs: '2.48',
    skip: skipBefore('2.48', 'this git knows no relativeWorktrees'),
    make: async (folder) => await extended(await initialised(folder), 'relativeWorktrees', 'true'),
  },
]

for (const { name, needs, skip = false, make, isShallow, isUnsaid } of kinds) {
  t.test(`Commits, branches and the log of this kind are read: ${name}`, { skip }, async (t) => {
    const directory = await make(t.testdir())
    const sha = isShallow ? await git('-C', directory, 'rev-parse', 'main') : await makeCommit(directory, 'the last')
    t.equal((await neededGit(directory))?.version, isUnsaid ? undefined : needs)
    const finder = makeFinder(t)
    t.equal(await finder.has(directory, sha), true)
    t.equal(await finder.has(directory, unknownId(sha.length === 40 ? 'sha1' : 'sha256')), false)
    const processes = new GitProcesses()
    t.teardown(() => {
      processes.close()
    })
    const repository = { directory, public: true }
    const refs = new Refs(processes)
    t.equal((await refs.resolve(repository, 'main'))?.hex, sha)
    t.equal(await refs.defaultBranch(repository), 'main')
    const log = new CommitLog(processes)
    const id = parseObjectId(sha)
    const found = id && (await log.list(repository, id, { skip: 0, limit: 10 }))
    t.equal(found?.[0]?.sha, sha)
    t.strictSame(await new RefLists(processes).branches(repository), [{ name: 'main', sha }])
    if (name === 'multi-pack index') t.ok(readdirSync(join(directory, 'objects/pack')).includes('multi-pack-index'))
  })
}

t.test('The page has every kind, and what git it needs', async (t) => {
  const text = chapter('config/README.md', '## Kinds of repositories')
  for (const { name, needs } of kinds) t.match(text, `| ${name} | ${needs ?? 'any'} |`, name)
  t.equal(text.split('\n').filter((line) => /^\| (?!kind|---|$)/.test(line)).length, kinds.length)
  t.ok(pageText('config/README.md').includes('[Kinds of repositories](#kinds-of-repositories)'))
})
