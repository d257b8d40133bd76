import t, { type Test } from 'tap'
import { StoreOverloaded } from '../../lib/errors.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { LevelWriter } from '../../lib/store/level/writer.js'
import type { QueueBounds } from '../../lib/store/bounded-queue.js'

async function open(t: Test, bounds?: QueueBounds): Promise<{ database: LevelDatabase; writer: LevelWriter }> {
  const database = await LevelDatabase.open(t.testdir({}))
  t.teardown(async () => await database.close())
  return { database, writer: new LevelWriter(database, silentLogger, bounds) }
}

const put = (key: string, size = 1) => ({
  size,
  reads: [key],
  decide: () => ({ operations: [{ type: 'put' as const, key, value: 'x' }], result: key }),
})

t.test('A read that fails fails the changes that need it, and no others, although they share a write', async (t) => {
  const { database, writer } = await open(t)
  const read = database.read.bind(database)
  database.read = async (keys) =>
    keys.includes('a') ? await Promise.reject(new Error('a bad block')) : await read(keys)
  const results = await Promise.allSettled(['first', 'b', 'a', 'c'].map(async (key) => await writer.apply(put(key))))
  t.match(results, [{ value: 'first' }, { value: 'b' }, { reason: { message: 'a bad block' } }, { value: 'c' }])
  t.equal(writer.unavailableReason, undefined)
  t.strictSame(await read(['a', 'b', 'c']), [undefined, 'x', 'x'])
})

t.test(
  'Past so many changes, or so much to write, a change is refused at once; what waits is done, and then it goes on',
  async (t) => {
    const { database, writer } = await open(t, { changes: 3, size: 100 })
    const begun = [writer.apply(put('first')), ...['a', 'b', 'c'].map(async (key) => await writer.apply(put(key)))]
    await t.rejects(writer.apply(put('d')), StoreOverloaded)
    await t.rejects(
      writer.applyAlone(async function* () {}),
      StoreOverloaded,
    )
    await Promise.all(begun)
    const large = [writer.apply(put('e', 60)), writer.apply(put('f', 60))]
    await t.rejects(writer.apply(put('g', 60)), StoreOverloaded)
    await Promise.all(large)
    await writer.apply(put('h', 60))
    const keys = ['first', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    t.strictSame(
      (await database.read(keys)).map((value) => value !== undefined),
      [true, true, true, true, false, true, true, false, true],
    )
  },
)

t.test('A change of any size that cannot be read off changes nothing, and the store goes on', async (t) => {
  const { database, writer } = await open(t)
  const changes = writer.applyAlone(async function* () {
    yield { type: 'put', key: 'half', value: 'x' }
    await Promise.reject(new Error('cannot go on'))
  })
  await t.rejects(changes, { message: 'cannot go on' })
  t.equal(await writer.apply(put('b')), 'b')
  t.strictSame(await database.read(['half', 'b']), [undefined, 'x'])
})

t.test('After closing, a change of any size is refused too', async (t) => {
  const { writer } = await open(t)
  await writer.close()
  await t.rejects(
    writer.applyAlone(async function* () {}),
    { name: 'StoreUnavailable' },
  )
})

t.test('A change of any size waits for those before it, and has those after it wait', async (t) => {
  const { database, writer } = await open(t)
  const order: string[] = []
  const done = (name: string) => () => void order.push(name)
  const alone = writer.apply(put('first')).then(done('first'))
  const changes = [
    writer.apply(put('before')).then(done('before')),
    writer
      .applyAlone(async function* () {
        for (const value of await database.read(['before', 'after']))
          yield { type: 'put', key: `alone ${order.length}`, value: String(value) }
      })
      .then(done('alone')),
    writer.apply(put('after')).then(done('after')),
  ]
  await Promise.all([alone, ...changes])
  t.strictSame(order, ['first', 'before', 'alone', 'after'])
  t.strictSame(await database.read(['alone 2']), ['undefined'], 'it saw what was before it only')
})
