import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import type { Administration } from '../../lib/admin/administration.js'
import { ExportLines, type ExportRecord } from '../../lib/admin/export-lines.js'
import { linesOf } from '../../lib/admin/ndjson.js'
import { Tokens } from '../../lib/auth/tokens.js'
import type { CommitStatus } from '../../lib/domain/commit-status.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { runTask } from '../../lib/concurrency/task.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { administrationOn } from '../fixtures/local-administration.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'
import { itemsOf, progressOf, resultOf } from '../fixtures/work.js'

const commit = commitId('c0ffee')
const hello = repositoryNamed('alice/hello')
const TOKEN = {
  id: '0a',
  digest: 'd'.repeat(64),
  user: 'alice',
  name: 'é \u2028',
  scopes: ['repo'],
  created_at: '2026-01-31T12:00:00.000Z',
  expires_at: null,
}

interface Place {
  readonly folder: string
  readonly store: LevelStore
  readonly admin: Administration
}

async function place(t: Test, name: string): Promise<Place> {
  const folder = join(t.testdirName, name)
  const store = await LevelStore.open(folder)
  const [tokens, commits] = [
    new Tokens({ store: store.tokens, prefix: 'cst', maxTokens: 100, clock: systemClock, logger: silentLogger }),
    new CommitFinder(),
  ]
  t.teardown(async () => {
    await tokens.close()
    await store.close()
  })
  return {
    folder,
    store,
    admin: administrationOn(store, { tokens, commits }),
  }
}

/**
 * Statuses of some repositories, a token that was used, grants on an owner, on a repository and on one without
 * statuses.
 */
async function fill({ store }: Place): Promise<void> {
  for (const name of ['alice/hello', 'alice/hello-2', 'bob/x']) {
    await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        store.statuses.save(
          repositoryNamed(name),
          commitId(String(index % 7)),
          reportOf(`ci ${index}`, {
            description: '\u2028 \u202e \u{1f600} é',
            target_url: 'https://ci.example/é',
            ...(index % 3 === 0 && { state: 'pending' }),
            ...(index % 2 === 0 && { reporter: { user: 'alice', token: index % 4 === 0 ? TOKEN.id : null } }),
          }),
          index,
        ),
      ),
    )
  }
  await store.tokens.add(TOKEN)
  await store.tokens.noteUse(new Map([[TOKEN.id, '2026-02-01T12:00:00.000Z']]))
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await store.grants.set({ owner: 'alice', repository: hello, user: 'bob', access: 'write' })
  await store.grants.set({ owner: 'alice', repository: repositoryNamed('alice/none'), user: 'bob', access: 'read' })
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

t.beforeEach((t) => void t.testdir({}))

t.test('What is exported and imported is the same, and importing it again changes nothing', async (t) => {
  const [from, to] = [await place(t, 'from'), await place(t, 'to')]
  await fill(from)
  const lines = await itemsOf(from.admin.exportStore(null))
  t.equal(lines.length, 900 + 1 + 3 + 2)
  t.equal(lines[0], '{"type":"export","version":1,"repository":null}')
  t.notMatch(lines.join(''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, 'nothing in it steers a terminal')
  const sha256 = createHash('sha256')
    .update(
      lines
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(''),
    )
    .digest('hex')
  t.equal(lines.at(-1), `{"type":"end","records":904,"sha256":"${sha256}"}`, 'the digest is that of sha256sum')
  for (const saved of [900, 0]) {
    t.strictSame(await resultOf(to.admin.importStore(each(lines))), { statuses: 900, tokens: 1, grants: 3, saved })
    t.strictSame(await itemsOf(to.admin.exportStore(null)), lines)
  }
  t.strictSame(await to.store.tokens.list(), [{ ...TOKEN, last_used_at: '2026-02-01T12:00:00.000Z' }])
})

t.test('An export of one repository has its statuses and grants, and no token', async (t) => {
  const [from, to] = [await place(t, 'from'), await place(t, 'to')]
  await fill(from)
  const lines = await itemsOf(from.admin.exportStore('alice/hello'))
  t.equal(lines[0], '{"type":"export","version":1,"repository":"alice/hello"}')
  t.strictSame(await resultOf(to.admin.importStore(each(lines))), { statuses: 300, tokens: 0, grants: 1, saved: 300 })
  t.equal((await itemsOf(from.admin.exportStore('alice/none'))).length, 3, 'one that has a grant only')
  await t.rejects(itemsOf(from.admin.exportStore('alice/nothing')), {
    name: /^(?:Administration|Argument)Error$/,
    message: 'the store has nothing of alice/nothing',
  })
  await t.rejects(itemsOf(from.admin.exportStore('alice')), { name: /^(?:Administration|Argument)Error$/ })
})

t.test('A store with nothing in it can be moved too', async (t) => {
  const { admin } = await place(t, 'empty')
  const lines = await itemsOf(admin.exportStore(null))
  t.equal(lines.length, 2)
  t.strictSame(await resultOf(admin.importStore(each(lines))), { statuses: 0, tokens: 0, grants: 0, saved: 0 })
})

t.test(
  'Of two statuses the later stays; grants are replaced; tokens that are there stay, and their latest use',
  async (t) => {
    const { store, admin } = await place(t, 'store')
    const there = (await store.statuses.save(hello, commit, reportOf('ci'), Date.parse('2026-02-01T12:00:00Z'))).status
    await store.tokens.add({ ...TOKEN, name: 'ours' })
    await store.tokens.add({ ...TOKEN, id: '0b' })
    await store.tokens.noteUse(new Map([['0b', '2026-03-01T12:00:00.000Z']]))
    await store.grants.set({ owner: 'alice', repository: hello, user: 'bob', access: 'read' })
    const status = {
      ...there,
      id: 'other',
      context: 'lint',
      created_at: '2020-01-01T00:00:00.000Z',
      updated_at: '2020-01-02T00:00:00.000Z',
    }
    const lines = exportOf([
      ...['0a', '0b', '0c'].map((id): ExportRecord => ({
        type: 'token',
        token: { ...TOKEN, id, last_used_at: id === '0c' ? null : '2026-02-01T12:00:00.000Z' },
      })),
      { type: 'grant', grant: { owner: 'alice', repository: hello, user: 'bob', access: 'write' } },
      { type: 'status', repository: hello, status: { ...there, state: 'error', updated_at: there.created_at } },
      { type: 'status', repository: hello, status },
    ])
    t.strictSame(await resultOf(admin.importStore(each(lines))), { statuses: 2, tokens: 3, grants: 1, saved: 1 })
    t.strictSame(await store.statuses.list(hello, commit), [there, status])
    t.match(await store.tokens.list(), [
      { id: '0a', name: 'ours', last_used_at: /^2026-02/ },
      { id: '0b', last_used_at: /^2026-03/ },
      { id: '0c', last_used_at: null },
    ])
    t.match(await store.grants.list(), [{ access: 'write' }])
    for (const id of ['0a', '0b', '0c']) await store.tokens.remove(id)
    const without = await resultOf(admin.importStore(each(lines), undefined, true))
    t.strictSame(without, { statuses: 2, tokens: 0, grants: 1, saved: 0 })
    t.strictSame(await store.tokens.list(), [], 'what was revoked stays so')
  },
)

t.test('An export that is cut off or was changed is refused whole', async (t) => {
  const [from, to] = [await place(t, 'from'), await place(t, 'to')]
  await fill(from)
  const lines = await itemsOf(from.admin.exportStore(null))
  const cases: [what: string, lines: string[], message: string][] = [
    ['nothing', [], 'it is empty'],
    ['without its end', lines.slice(0, -1), 'its end is missing'],
    [
      'cut in a line',
      [...lines.slice(0, 10), '{"type":'],
      'line 11 is not what an export has there: Unexpected end of JSON input',
    ],
    ['without its beginning', lines.slice(1), 'line 1 is not what an export has there: it is no export'],
    [
      'without a line',
      lines.toSpliced(7, 1),
      'line 905 is not what an export has there: it counts 904 records, and there are 903',
    ],
    [
      'with a line twice',
      lines.toSpliced(7, 0, lines[7] ?? ''),
      'line 907 is not what an export has there: it counts 904 records, and there are 905',
    ],
    [
      'with lines exchanged',
      lines.toSpliced(7, 2, lines[8] ?? '', lines[7] ?? ''),
      'line 906 is not what an export has there: the lines before it are not those that were written (SHA-256)',
    ],
    [
      'with another word',
      lines.map((line) => line.replace('success', 'failure')),
      'line 906 is not what an export has there: the lines before it are not those that were written (SHA-256)',
    ],
    [
      'with something after its end',
      [...lines, ''],
      'line 907 is not what an export has there: there should be no more lines',
    ],
    [
      'with an end that is none',
      [...lines.slice(0, -1), '{"type":"end"}'],
      'line 906 is not what an export has there: it is no end',
    ],
    [
      'of another version',
      ['{"type":"export","version":2,"repository":null}'],
      'line 1 is not what an export has there: it is of version 2, and this program knows version 1',
    ],
  ]
  for (const [what, changed, message] of cases) {
    await t.rejects(
      resultOf(to.admin.importStore(each(changed))),
      { name: 'AdministrationError', message: `this cannot be imported: ${message}; nothing was changed` },
      what,
    )
  }
  t.equal((await itemsOf(to.admin.exportStore(null))).length, 2)
})

t.test('What keeps an export from being read is no fault of the export', async (t) => {
  const { admin } = await place(t, 'store')
  const broken = async function* (): AsyncGenerator<string> {
    yield new ExportLines().first(null)
    throw new RangeError('the disk is gone')
  }
  await t.rejects(resultOf(admin.importStore(broken())), { name: 'RangeError', message: 'the disk is gone' })
  const long = linesOf(Readable.from(['x'.repeat(2 * 1024 * 1024)]))
  await t.rejects(resultOf(admin.importStore(long)), {
    name: 'AdministrationError',
    message: 'this cannot be imported: a line has more than 1048576 characters; nothing was changed',
  })
})

t.test('A status, grant or token that breaks a rule is refused, with the number of its line', async (t) => {
  const { admin } = await place(t, 'store')
  const at = '2026-01-31T12:00:00.000Z'
  const status: CommitStatus = {
    id: 'a',
    sha: commit.hex,
    context: 'ci',
    state: 'success',
    description: null,
    target_url: null,
    created_at: at,
    updated_at: at,
  }
  const of = (more: object): ExportRecord => ({ type: 'status', repository: hello, status: { ...status, ...more } })
  const token = (more: object): ExportRecord => ({ type: 'token', token: { ...TOKEN, last_used_at: null, ...more } })
  const cases: [record: ExportRecord, reason: string][] = [
    [of({ sha: commit.hex.toUpperCase() }), 'sha is no commit id'],
    [of({ sha: 'c0ffee' }), 'sha is no commit id'],
    [of({ context: '' }), 'context must have 1 to 255 characters'],
    [of({ target_url: 'javascript:x' }), 'target_url must be an absolute http or https URL'],
    [of({ state: 'ok' }), 'it is no status, grant or token'],
    [of({ id: 'a"b' }), 'it is no status, grant or token'],
    [of({ more: 1 }), 'it is no status, grant or token'],
    [of({ updated_at: '2026-01-31' }), '"2026-01-31" is no time'],
    [of({ created_at: 'soon' }), '"soon" is no time'],
    [of({ updated_at: '2020-01-31T12:00:00.000Z' }), 'updated_at is before created_at'],
    [of({ updated_at: '9999-01-01T00:00:00.000Z' }), '9999-01-01T00:00:00.000Z is more than a day ahead'],
    [of({ pending_since: 'noon' }), '"noon" is no time'],
    [of({ pending_since: null }), 'it is no status, grant or token'],
    [of({ pending_since: '2026-01-31T11:59:59.999Z' }), 'pending_since is not between created_at and updated_at'],
    [of({ pending_since: '2026-01-31T12:00:00.001Z' }), 'pending_since is not between created_at and updated_at'],
    [{ type: 'status', repository: { ...hello, full: '../x' }, status }, '"../x" is no name of a repository'],
    [{ type: 'grant', grant: { owner: '.', user: 'bob', access: 'read' } }, '"." is no name of an owner'],
    [{ type: 'grant', grant: { owner: 'alice', user: 'a/b', access: 'read' } }, '"a/b" is no name of a user'],
    [token({ user: '' }), '"" is no name of a user'],
    [token({ user: 'host' }), '"host" is no name of a user'],
    [{ type: 'grant', grant: { owner: 'alice', user: 'host', access: 'read' } }, '"host" is no name of a user'],
    [token({ expires_at: 'never' }), '"never" is no time'],
    [token({ digest: 'd' }), 'it is no status, grant or token'],
    [token({ scopes: ['admin'] }), 'it is no status, grant or token'],
  ]
  for (const [record, reason] of cases) {
    await t.rejects(
      resultOf(admin.importStore(each(exportOf([of({}), record])))),
      {
        name: 'AdministrationError',
        message: `this cannot be imported: line 3 is not what an export has there: ${reason}; nothing was changed`,
      },
      reason,
    )
  }
  t.equal((await itemsOf(admin.exportStore(null))).length, 2)
})

t.test('A repository is imported whole or not at all', async (t) => {
  const [from, to] = [await place(t, 'from'), await place(t, 'to')]
  await fill(from)
  const lines = await itemsOf(from.admin.exportStore(null))
  const importing = to.admin.importStore(each(lines))
  // Some of the second repository is on its way.
  for (let done = 0; done < 400;) {
    const step = await importing.next()
    if (!step.done && step.value.progress?.phase === 'importing') done = step.value.progress.done
  }
  await importing.return({ statuses: 0, tokens: 0, grants: 0, saved: 0 })
  const counts = await Promise.all(
    ['alice/hello', 'alice/hello-2', 'bob/x'].map(
      async (name) => (await itemsOf(to.admin.listStatuses(name, null))).length,
    ),
  )
  t.strictSame(counts.toSorted(), [0, 0, 300])
  t.match(await resultOf(to.admin.importStore(each(lines))), { saved: 600 }, 'and the rest later')
})

t.test('An import and an export say how far they are', async (t) => {
  const [from, to] = [await place(t, 'from'), await place(t, 'to')]
  await fill(from)
  t.match((await progressOf(from.admin.exportStore(null))).at(-1), { phase: 'exporting', done: 900 })
  const progress = await progressOf(to.admin.importStore(each(await itemsOf(from.admin.exportStore(null)))))
  t.match(progress[0], { phase: 'checking', done: 250 })
  const { phase, done, share = 0 } = progress.at(-1) ?? {}
  t.match({ phase, done }, { phase: 'importing', done: 904 })
  t.ok(share > 0.99 && share <= 1)
})

t.test('What is damaged stops an export: it has no end then, and cannot be imported', async (t) => {
  const damages = [`alice/hello/${commit.hex}/b`, 'nonsense', `../x/${commit.hex}/b`]
  for (const [index, key] of damages.entries()) {
    const folder = join(t.testdirName, String(index))
    const store = await LevelStore.open(folder)
    for (const context of ['a', 'b', 'c']) await store.statuses.save(hello, commit, reportOf(context), 0)
    await store.close()
    await withRawLevel(folder, async (level) => {
      await level.put(key, '{}')
    })
    const { admin } = await place(t, String(index))
    const lines: string[] = []
    await t.rejects(
      runTask(admin.exportStore(null), ({ items = [] }) => void lines.push(...items)),
      { name: 'StoreCorrupt', message: `the value of ${JSON.stringify(key)} is damaged` },
    )
    t.notMatch(lines.join(), /"end"/)
  }
})

/** An export of these records, whatever is in them. */
function exportOf(records: readonly ExportRecord[]): string[] {
  const lines = new ExportLines()
  return [lines.first(null), ...records.map((record) => lines.of(record)), lines.last()]
}
