import { EventEmitter, once } from 'node:events'
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreFenced, StoreUnavailable } from '../../lib/errors.js'
import type { Logger } from '../../lib/contracts/logger.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { LevelGrants } from '../../lib/store/level/grants.js'
import { encode } from '../../lib/store/level/record.js'
import { LevelHooks } from '../../lib/store/level/hooks.js'
import { LevelStatuses } from '../../lib/store/level/statuses.js'
import { LevelTokens } from '../../lib/store/level/tokens.js'
import { LevelWriter } from '../../lib/store/level/writer.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'

const put = (key: string) => ({
  size: 1,
  reads: [],
  decide: () => ({ operations: [{ type: 'put' as const, key, value: 'x' }], result: key }),
})

/** A database whose next write fails, and what its log says, as events. */
async function open(t: Test): Promise<{
  folder: string
  database: LevelDatabase
  writer: LevelWriter
  log: EventEmitter
  failNextWrite: () => void
}> {
  const folder = t.testdir({})
  const database = await LevelDatabase.open(folder)
  const log = new EventEmitter()
  const say = (facts: object, message: string): void => {
    log.emit(message, facts)
  }
  const logger: Logger = { debug: say, info: say, warn: say, error: say }
  const writer = new LevelWriter(database, logger)
  t.teardown(async () => {
    await writer.close()
    await database.close()
  })
  const write = database.write.bind(database)
  const failNextWrite = (): void => {
    database.write = () => {
      database.write = write
      return Promise.reject(new Error('the disk is gone'))
    }
  }
  return { folder, database, writer, log, failNextWrite }
}

t.test('A database that cannot be opened again is tried again, until it can', async (t) => {
  const { folder, database, writer, log, failNextWrite } = await open(t)
  await writer.apply(put('a'))
  renameSync(join(folder, 'CURRENT'), join(folder, 'elsewhere'))
  failNextWrite()
  await t.rejects(writer.apply(put('b')), { name: 'StoreFenced', cause: { message: 'the disk is gone' } })
  for (let failures = 1; failures <= 2; failures++) await once(log, 'the store does not accept writes yet')
  t.match(writer.unavailableReason, /is being opened again/)
  await t.rejects(database.read(['a']), StoreUnavailable)
  renameSync(join(folder, 'elsewhere'), join(folder, 'CURRENT'))
  await once(log, 'the store accepts writes again')
  t.equal(writer.unavailableReason, undefined)
  t.equal(await writer.apply(put('c')), 'c')
  t.strictSame(await database.read(['a', 'b', 'c']), ['x', undefined, 'x'])
})

t.test('While there is no room on the disk, what is stored can be read', async (t) => {
  const { folder, database, writer, log, failNextWrite } = await open(t)
  await writer.apply(put('a'))
  mkdirSync(join(folder, 'room'))
  failNextWrite()
  await t.rejects(writer.apply(put('b')), StoreFenced)
  for (let failures = 1; failures <= 2; failures++) await once(log, 'the store does not accept writes yet')
  t.strictSame(await database.read(['a', 'b']), ['x', undefined])
})

t.test('A store that fails again and again is opened less and less often', async (t) => {
  const { writer, log, failNextWrite } = await open(t)
  const pauses: number[] = []
  for (let failures = 1; failures <= 4; failures++) {
    failNextWrite()
    const recovered = once(log, 'the store accepts writes again') as Promise<[{ ms: number }]>
    await t.rejects(writer.apply(put('a')), StoreFenced)
    pauses.push((await recovered)[0].ms)
  }
  t.ok(
    pauses.every((pause, index) => pause >= 49 * 2 ** index),
    String(pauses),
  )
})

t.test('Closing does not wait for a disk that stays broken', async (t) => {
  const { folder, writer, log, failNextWrite } = await open(t)
  mkdirSync(join(folder, 'room'))
  failNextWrite()
  await t.rejects(writer.apply(put('a')), StoreFenced)
  await once(log, 'the store does not accept writes yet')
  await writer.close()
  t.equal(writer.unavailableReason, 'the store is closed')
  await t.rejects(writer.apply(put('b')), { message: 'the store is closed' })
})

t.test(
  'After it was opened again nothing is answered from memory: a change that failed may be on disk after all',
  async (t) => {
    const { database, writer, log, failNextWrite } = await open(t)
    const [statuses, tokens, grants] = [
      new LevelStatuses(database, writer, new LevelHooks(database, writer).outbox),
      new LevelTokens(database, writer),
      new LevelGrants(database, writer),
    ]
    const [repository, commit] = [repositoryNamed('alice/hello'), commitId('c0ffee')]
    const token = {
      id: '0a',
      digest: 'd',
      user: 'alice',
      name: '',
      scopes: [],
      created_at: '2026-01-31T12:00:00.000Z',
      expires_at: null,
    }
    await statuses.save(repository, commit, reportOf('ci'), 0)
    await tokens.add(token)
    await grants.set({ owner: 'alice', user: 'bob', access: 'write' })
    const known = async (): Promise<unknown[]> => [
      (JSON.parse((await wholeList({ statuses }, repository, commit)).bytes.toString()) as { state: string }).state,
      await tokens.get('0a'),
      (await grants.of('bob', repository))[0]?.access,
    ]
    t.strictSame(await known(), ['success', token, 'write'])

    const [key, grant] = [`alice/hello/${commit.hex}/ci`, '!grants!alice//bob']
    const status = {
      id: 'x',
      state: 'failure',
      description: null,
      target_url: null,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.000Z',
    }
    await database.write([
      { type: 'put', key, value: encode(key, status) },
      { type: 'del', key: '!tokens!0a' },
      { type: 'put', key: grant, value: encode(grant, { access: 'read' }) },
    ])
    failNextWrite()
    const recovered = once(log, 'the store accepts writes again')
    await t.rejects(writer.apply(put('a')), StoreFenced)
    await recovered
    t.strictSame(await known(), ['failure', undefined, 'read'])
  },
)
