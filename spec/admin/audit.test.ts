import { join } from 'node:path'
import t from 'tap'
import { Tokens } from '../../lib/auth/tokens.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { runTask, type Task, type TaskStep } from '../../lib/concurrency/task.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { administrationOn } from '../fixtures/local-administration.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { itemsOf, resultOf } from '../fixtures/work.js'

const by = { user: 'root', uid: 0 }

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

/** Does work until a step is as it should be; then it is interrupted. */
async function until<Item>(work: Task<unknown, Item>, isReached: (step: TaskStep<Item>) => boolean): Promise<void> {
  await runTask(work, (step) => {
    if (isReached(step)) throw new Error('interrupted')
  }).catch((error: unknown) => {
    if (!(error instanceof Error && error.message === 'interrupted')) throw error
  })
}

t.test('An import or a prune that is ended early has a line, too, which counts what it has changed', async (t) => {
  const log: object[] = []
  const logger = { ...silentLogger, info: (facts: object, msg: string) => void log.push({ ...facts, msg }) }
  const at = async (name: string) => {
    const store = await LevelStore.open(join(t.testdirName, name))
    const [tokens, commits] = [
      new Tokens({ store: store.tokens, prefix: 'cst', maxTokens: 100, clock: systemClock, logger: silentLogger }),
      new CommitFinder(),
    ]
    t.teardown(async () => {
      await tokens.close()
      await store.close()
    })
    return {
      store,
      tokens,
      admin: administrationOn(store, {
        tokens,
        logger,
        commits,
        repositories: new RepositoryFolder(t.testdirName, { topOwner: 'git' }),
      }),
    }
  }
  t.testdir({})
  const from = await at('from')
  await Promise.all(
    Array.from(
      { length: 600 },
      async (_, index) =>
        await from.store.statuses.save(repositoryNamed('alice/hello'), commitId('c0ffee'), reportOf(`ci ${index}`), 0),
    ),
  )
  await from.store.grants.set({ owner: 'alice', user: 'bob', access: 'write' })
  await from.store.grants.set({
    owner: 'alice',
    repository: repositoryNamed('alice/hello'),
    user: 'carol',
    access: 'read',
  })
  const { record } = await from.tokens.create({ user: 'alice', name: '', scopes: ['repo'], expiresAt: null })
  const lines = await itemsOf(from.admin.exportStore(null))
  const to = await at('to')

  await until(to.admin.importStore(each(lines), by), ({ progress }) => progress?.phase === 'checking')
  t.strictSame(log.splice(0), [], 'nothing was changed')
  await until(to.admin.importStore(each(lines), by), ({ progress }) => progress?.phase === 'importing')
  const token = {
    by,
    token: record.id,
    user: 'alice',
    name: '',
    scopes: ['repo'],
    expires_at: null,
    msg: 'audit: token imported',
  }
  const grant = { by, on: 'alice', user: 'bob', access: 'write', msg: 'audit: access granted' }
  t.strictSame(log.splice(0), [
    token,
    grant,
    { by, statuses: 0, tokens: 1, grants: 1, saved: 0, msg: 'audit: store imported in part' },
  ])
  await until(
    to.admin.importStore(each(lines), by),
    ({ progress }) => progress?.phase === 'importing' && progress.done > 252,
  )
  t.strictSame(
    log.splice(0),
    [grant, { by, statuses: 0, tokens: 1, grants: 1, saved: 0, msg: 'audit: store imported in part' }],
    'a repository is in as a whole, or not at all',
  )
  await resultOf(to.admin.importStore(each(lines), by))
  const own = { by, on: 'alice/hello', user: 'carol', access: 'read', msg: 'audit: access granted' }
  t.strictSame(log.splice(0), [
    grant,
    own,
    { by, statuses: 600, tokens: 1, grants: 2, saved: 600, msg: 'audit: store imported' },
  ])

  const request = { goneCommits: false, goneRepositories: false, olderThan: '2000-01-01T00:00:00.000Z', remove: true }
  await until(to.admin.pruneStore({ ...request, remove: false }, by), () => true)
  t.strictSame(log.splice(0), [], 'nothing was changed')
  await until(to.admin.pruneStore(request, by), () => true)
  t.strictSame(log.splice(0), [{ by, ...request, statuses: 250, kept: 0, msg: 'audit: store pruned in part' }])
  await resultOf(to.admin.pruneStore(request, by))
  t.strictSame(log.splice(0), [{ by, ...request, statuses: 350, kept: 0, msg: 'audit: store pruned' }])
})

t.test('Of an import that fails midway there is a line for each right that it has changed', async (t) => {
  const log: { msg: string; user?: string }[] = []
  const logger = { ...silentLogger, info: (facts: object, msg: string) => void log.push({ ...facts, msg }) }
  const store = await LevelStore.open(join(t.testdir({}), 'store'))
  const tokens = new Tokens({
    store: store.tokens,
    prefix: 'cst',
    maxTokens: 100,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(async () => {
    await tokens.close()
    await store.close()
  })
  const admin = administrationOn(store, { tokens, logger })
  for (const user of ['bob', 'carol', 'dave']) await store.grants.set({ owner: 'alice', user, access: 'read' })
  const lines = await itemsOf(admin.exportStore(null))
  const set = store.grants.set.bind(store.grants)
  Object.assign(store.grants, {
    set: async (grant: Parameters<typeof set>[0]) =>
      await (grant.user === 'carol' ? Promise.reject(new Error('no')) : set(grant)),
  })
  await t.rejects(resultOf(admin.importStore(each(lines), by)), { message: 'no' })
  t.match(log, [
    { user: 'bob', msg: 'audit: access granted' },
    { user: 'dave', msg: 'audit: access granted' },
    { msg: 'audit: store imported in part' },
  ])
})
