import t, { type Test } from 'tap'
import { Database } from '../../lib/store/level/database.js'
import { Writer } from '../../lib/store/level/writer.js'

async function open(t: Test): Promise<{ database: Database; writer: Writer }> {
  const database = await Database.open(t.testdir({}))
  t.teardown(async () => await database.close())
  return { database, writer: new Writer(database) }
}

const put = (key: string) => ({ reads: [key], decide: () => ({ operations: [{ type: 'put' as const, key, value: 'x' }], result: key }) })

t.test('A read that fails fails the changes that need it, and no others: nothing has been written', async (t) => {
  const { database, writer } = await open(t)
  const read = database.read.bind(database)
  let failures = 0
  database.read = async (keys) => (failures++ === 0 ? await Promise.reject(new Error('a bad block')) : await read(keys))
  await t.rejects(writer.apply(put('a')), { message: 'a bad block' })
  t.equal(writer.trouble, undefined)
  t.equal(await writer.apply(put('b')), 'b')
  t.strictSame(await read(['a', 'b']), [undefined, 'x'])
})

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
  await t.rejects(writer.applyAlone(async function* () {}), { name: 'StoreUnavailable' })
})
