import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cacheShares } from '../../lib/contracts/cache-shares.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { RefListBuilder, type Ref, type RefList } from '../../lib/git/ref-list.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { git, gitWithInput, makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { until } from '../fixtures/within.js'

/** Refs of a repository, and how often git was asked for them. */
function listerOf(t: Test, directory: string) {
  const processes = new GitProcesses()
  t.teardown(() => {
    processes.close()
  })
  const counted = { runs: 0 }
  const lists = new RefLists({
    read: async (...call) => {
      counted.runs++
      return await processes.read(...call)
    },
    run: async (...call) => await processes.run(...call),
  })
  const list = async (identity: string | undefined = 'one'): Promise<RefList> =>
    await lists.of({ directory, public: true, ...(identity !== '' && { identity }) })
  return { list, counted }
}

const namesOf = async (list: RefList, prefix = 'refs/'): Promise<string[]> =>
  (await list.page({ prefix, skip: 0, limit: 1_000_000 })).refs.map(({ name }) => name)

/** Waits until what was done is so long ago that a stamp shows it, and is remembered. */
async function settled({ list, counted }: ReturnType<typeof listerOf>): Promise<void> {
  await until(async () => {
    const before = counted.runs
    await list()
    return counted.runs === before
  })
}

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`All refs of a repository are listed by name, of ${format}`, async (t) => {
    const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello', { format })
    const names = [
      'refs/heads/fix/a%b#c',
      'refs/heads/grün',
      'refs/heads/von\u00a0hier',
      'refs/heads/\u3000',
      'refs/pull/1/head',
    ]
    for (const name of names) await git('-C', directory, 'update-ref', name, sha)
    await git('-C', directory, 'tag', '-a', '-m', 'a tag', 'v1')
    await git('-C', directory, 'symbolic-ref', 'refs/heads/master', 'refs/heads/main')
    await git('-C', directory, 'symbolic-ref', 'refs/heads/dangling', 'refs/heads/gone')
    const tag = await git('-C', directory, 'rev-parse', 'v1')
    const { list } = listerOf(t, directory)
    const all = await list()
    const found = await all.page({ prefix: 'refs/', skip: 0, limit: 100 })
    const expected = [...names.slice(0, 2), 'refs/heads/main', 'refs/heads/master', ...names.slice(2)]
    t.strictSame(found.refs, [...expected.map((name) => ({ name, id: sha })), { name: 'refs/tags/v1', id: tag }])
    t.equal(found.total, 8)
    t.strictSame([...all.symbolic], [['refs/heads/master', 'refs/heads/main']])
    const page = await all.page({ prefix: 'refs/heads/', descending: true, skip: 1, limit: 2 })
    t.match(page, { refs: [{ name: 'refs/heads/von\u00a0hier' }, { name: 'refs/heads/master' }], total: 6 })
  })
}

t.test('What git shows to nobody who fetches is not listed', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const names = ['heads/a', 'internal/secret', 'internals/b', 'pull/1/head', 'pull/1/merge', 'pull/2/head', 'tags/v1']
  // More than git writes at once.
  for (let number = 0; number < 3000; number++) names.push(`internal/${number}`, `heads/b-${number}`)
  const input = names.map((name) => `create refs/${name} ${sha}\n`).join('')
  await gitWithInput(input, '-C', directory, 'update-ref', '--stdin')
  await git('-C', directory, 'symbolic-ref', 'refs/internal/symbolic', 'refs/heads/a')
  const settings = [
    ['transfer.hideRefs', 'refs/internal/'],
    ['transfer.hideRefs', '^refs/pull'],
    ['uploadpack.hideRefs', '!refs/pull/1'],
    ['uploadpack.hideRefs', 'refs/pull/1/merge'],
    ['receive.hideRefs', 'refs/tags'],
  ] as const
  for (const [key, value] of settings) await git('-C', directory, 'config', '--add', key, value)
  const shown = (await git('ls-remote', directory, 'refs/*')).split('\n').map((line) => line.split('\t')[1])
  const list = await listerOf(t, directory).list()
  t.strictSame(await namesOf(list), shown)
  for (const name of ['refs/heads/a', 'refs/internals/b', 'refs/pull/1/head', 'refs/tags/v1'])
    t.ok(shown.includes(name))
  for (const name of ['refs/internal/secret', 'refs/pull/1/merge', 'refs/pull/2/head']) t.notOk(shown.includes(name))
  t.equal(list.symbolic.get('refs/internal/symbolic'), 'refs/heads/a', 'the gate follows it')
})

t.test('People are shown branches by their short names, fifty of them', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const processes = new GitProcesses()
  const [lists, repository] = [new RefLists(processes), { directory, public: true }]
  const other = await makeCommit(directory, 'on a branch', 'fix/x')
  await git('-C', directory, 'tag', 'v1', sha)
  t.strictSame(await lists.branches(repository), [
    { name: 'fix/x', sha: other },
    { name: 'main', sha },
  ])
  const more = Array.from({ length: 60 }, (_, at) => `create refs/heads/a${String(at)} ${sha}\n`)
  await gitWithInput(more.join(''), '-C', directory, 'update-ref', '--stdin')
  t.equal((await lists.branches(repository)).length, 50)
  const empty = await makeRepository(t.testdirName, 'alice/empty')
  t.strictSame(await lists.branches({ directory: empty, public: true }), [])
  processes.close()
})

t.test('A page is what a sorted array has at its place, of every list', async (t) => {
  const part = fc.string({
    unit: fc.constantFrom('a', 'b', '-', 'ü', '\u{1f600}', '\uffee'),
    minLength: 1,
    maxLength: 3,
  })
  const name = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `refs/${parts.join('/')}`)
  const query = fc.record({
    prefix: fc.array(part, { maxLength: 2 }).map((parts) => `refs/${parts.join('/')}`),
    skip: fc.nat(1500),
    limit: fc.integer({ min: 1, max: 700 }),
    descending: fc.boolean(),
    selected: fc.boolean(),
  })
  const model = fc.record({
    names: fc.uniqueArray(name, { maxLength: 40 }),
    more: fc.nat(1600),
    cut: fc.integer({ min: 1, max: 9999 }),
    query,
  })
  await fc.assert(
    fc.asyncProperty(model, async ({ names, more, cut, query: { prefix, skip, limit, descending, selected } }) => {
      const many = [...names, ...Array.from({ length: more }, (_, index) => `refs/ab/${index}`)]
      const sorted = [...new Set(many)].map((name) => Buffer.from(name)).sort((one, other) => one.compare(other))
      const all = sorted.map((name, index): Ref => ({
        name: name.toString(),
        id: index.toString(16).padStart(40, '0'),
      }))
      const selects = ({ name }: Ref): boolean => name.includes('1') || name.includes('b')
      const output = Buffer.from(all.map(({ name, id }) => `${id} ${name} \n`).join(''))
      const builder = new RefListBuilder()
      for (let at = 0; at < output.length; at += cut) builder.take(output.subarray(at, at + cut))
      const page = await builder.list().page({ prefix, skip, limit, descending, ...(selected && { selects }) })
      const wanted = all.filter((ref) => ref.name.startsWith(prefix) && (!selected || selects(ref)))
      const ordered = descending ? wanted.reverse() : wanted
      t.strictSame(page, { refs: ordered.slice(skip, skip + limit), total: wanted.length })
    }),
    { numRuns: 200 },
  )
})

t.test('A list that is remembered is never an old one, whatever git does', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const lister = listerOf(t, directory)
  const run = async (...args: string[]) => await git('-C', directory, ...args)
  const changes: [what: string, () => unknown][] = [
    ['a branch', async () => await run('update-ref', 'refs/heads/a/b/c', sha)],
    ['one beside it', async () => await run('update-ref', 'refs/heads/a/b/d', sha)],
    ['a commit', async () => await makeCommit(directory, 'another', 'a/b/c')],
    ['the same again', async () => await makeCommit(directory, 'a third', 'a/b/c')],
    ['packed', async () => await run('pack-refs', '--all', '--prune')],
    ['a packed one that moves', async () => await makeCommit(directory, 'a fourth', 'a/b/c')],
    ['a packed one that goes', async () => await run('update-ref', '-d', 'refs/heads/a/b/d')],
    ['where a folder was', async () => await run('update-ref', 'refs/heads/x/y', sha)],
    ['a branch', async () => await run('update-ref', '-d', 'refs/heads/x/y')],
    ['that has its name', async () => await run('update-ref', 'refs/heads/x', sha)],
    ['a tag', async () => await run('tag', 'v1')],
    ['a symbolic one', async () => await run('symbolic-ref', 'refs/heads/master', 'refs/heads/x')],
    ['an empty folder', () => mkdirSync(join(directory, 'refs/empty'))],
    ['a ref in it', async () => await run('update-ref', 'refs/empty/one', sha)],
    [
      'many at once',
      async () =>
        await gitWithInput(
          `create refs/m/1 ${sha}\ncreate refs/m/2 ${sha}\n`,
          '-C',
          directory,
          'update-ref',
          '--stdin',
        ),
    ],
    [
      'what was packed, put back',
      () => {
        rmSync(join(directory, 'packed-refs'))
      },
    ],
  ]
  for (const [what, change] of changes) {
    await settled(lister)
    await change()
    const printed = (await git('-C', directory, 'for-each-ref', '--format=%(refname) %(objectname)')).split('\n')
    const { refs } = await (await lister.list()).page({ prefix: 'refs/', skip: 0, limit: 100 })
    t.strictSame(
      refs.map(({ name, id }) => `${name} ${id}`),
      printed,
      what,
    )
  }
})

t.test('Without a change git is asked once, and whoever asks meanwhile shares the answer', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const lister = listerOf(t, directory)
  const { list, counted } = lister
  await Promise.all(Array.from({ length: 20 }, async () => await list()))
  t.equal(counted.runs, 1)
  await settled(lister)
  const { runs } = counted
  for (let count = 0; count < 5; count++) await list()
  t.equal(counted.runs, runs)
  await list('another')
  t.equal(counted.runs, runs + 1, 'of another repository in its place it is not the answer')
  await list('')
  await list('')
  t.equal(counted.runs, runs + 3, 'and where nobody knows which it is, nothing is')
  await git('-C', directory, 'update-ref', 'refs/heads/later', sha)
  t.ok((await namesOf(await list())).includes('refs/heads/later'))
})

t.test('100,000 refs are remembered: a page of them takes no git', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const lines = Array.from({ length: 100_000 }, (_, index) => {
    const name = `refs/heads/feature/team-${index % 7}/JIRA-${100_000 + index}`
    return { name, line: `${randomBytes(20).toString('hex')} ${name}\n` }
  })
  lines.sort((one, other) => (one.name < other.name ? -1 : 1))
  const header = '# pack-refs with: peeled fully-peeled sorted \n'
  writeFileSync(join(directory, 'packed-refs'), header + lines.map(({ line }) => line).join(''))
  const lister = listerOf(t, directory)
  await settled(lister)
  const { runs } = lister.counted
  for (const skip of [0, 30, 50_000, 99_990, 200_000]) {
    const list = await lister.list()
    const { refs, total } = await list.page({ prefix: 'refs/heads/feature/', skip, limit: 30 })
    t.strictSame([refs.map(({ name }) => name), total], [lines.slice(skip, skip + 30).map(({ name }) => name), 100_000])
    t.ok(list.bytes < cacheShares().refLists, 'as large as is remembered by default')
  }
  t.equal(lister.counted.runs, runs)
})

t.test('Where a change could go unseen, nothing is remembered', async (t) => {
  const hidden: Record<string, (directory: string, sha: string) => void> = {
    'the refs of a work tree': (directory) => {
      writeFileSync(join(directory, 'commondir'), `${directory}\n`)
    },
    'a link to a folder': (directory) => {
      renameSync(join(directory, 'refs/tags'), join(directory, 'elsewhere'))
      symlinkSync('../elsewhere', join(directory, 'refs/tags'))
    },
    'a ref that is a link': (directory) => {
      symlinkSync('main', join(directory, 'refs/heads/master'))
    },
    'more folders than are looked at': (directory) => {
      for (let count = 0; count < 2_000; count++) mkdirSync(join(directory, `refs/${count}`))
    },
  }
  for (const [what, hide] of Object.entries(hidden)) {
    const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
    hide(directory, sha)
    const { list, counted } = listerOf(t, directory)
    for (let count = 0; count < 3; count++) await list()
    t.equal(counted.runs, 3, what)
  }
})

t.test('What has changed just now may do so again without a sign: it is not remembered', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const { list, counted } = listerOf(t, directory)
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => statSync(join(directory, 'refs/heads')).ctimeMs
  for (let count = 0; count < 3; count++) await list()
  t.equal(counted.runs, 3)
})

const noReftable = !spawnSync('git', ['init', '-h'], { encoding: 'utf8' }).stdout.includes('--ref-format')

t.test(
  'Those of a reftable are seen as they change',
  { skip: noReftable && 'this git knows no reftable' },
  async (t) => {
    const directory = join(t.testdir(), 'hello.git')
    await git('init', '--quiet', '--bare', '--initial-branch=trunk', '--ref-format=reftable', directory)
    const lister = listerOf(t, directory)
    t.strictSame(await namesOf(await lister.list()), [])
    for (const branch of ['a', 'b', 'c']) {
      await settled(lister)
      await makeCommit(directory, 'a commit', branch)
      t.ok((await namesOf(await lister.list())).includes(`refs/heads/${branch}`))
    }
  },
)

t.test('What cannot be read is refused, and not remembered', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const { list } = listerOf(t, directory)
  writeFileSync(join(directory, 'config'), '[broken\n')
  await t.rejects(list(), { name: 'RepositoryUnreadable' })
  writeFileSync(join(directory, 'config'), '')
  rmSync(join(directory, 'refs'), { recursive: true })
  await t.rejects(list(), { name: 'RepositoryUnreadable' })
  const endless = new RefLists({
    run: () => Promise.resolve({ code: 1, output: Buffer.alloc(0), error: '' }),
    read: async (_directory, _args, take) => {
      let reason: string | undefined
      while (reason === undefined) reason = take(Buffer.alloc(1024 * 1024))
      return await Promise.reject(new Error(reason))
    },
  })
  await t.rejects(endless.of({ directory, public: true }), { message: 'git printed more than 134217728 bytes' })
})
