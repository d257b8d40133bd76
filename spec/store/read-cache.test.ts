import t from 'tap'
import { noopMeter } from '../../lib/contracts/meter.js'
import { ReadCache } from '../../lib/store/level/read-cache.js'

interface Value {
  readonly text: string
}

t.test('What was read is known until it is forgotten', async (t) => {
  const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
  let reads = 0
  const read = async (): Promise<Value> => ({ text: `read ${++reads}` })
  t.strictSame(await cache.get('a', read), { text: 'read 1' })
  t.strictSame(cache.get('a', read), { text: 'read 1' }, 'and at hand: no promise')
  cache.forget('b')
  t.strictSame(cache.get('a', read), { text: 'read 1' })
  cache.forget('a')
  t.strictSame(await cache.get('a', read), { text: 'read 2' })
  cache.clear()
  t.strictSame(await cache.get('a', read), { text: 'read 3' })
})

t.test('What is not there is asked for each time', async (t) => {
  const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
  t.equal(await cache.get('a', async () => undefined), undefined)
  t.strictSame(await cache.get('a', async () => ({ text: 'it has come' })), { text: 'it has come' })
})

t.test('Reads at the same time are one', async (t) => {
  const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
  let reads = 0
  const read = async (): Promise<Value> => ({ text: `read ${++reads}` })
  t.strictSame(await Promise.all([cache.get('a', read), cache.get('a', read), cache.get('b', read)]), [
    { text: 'read 1' },
    { text: 'read 1' },
    { text: 'read 2' },
  ])
})

for (const change of ['forget', 'clear'] as const) {
  t.test(
    `What was being read when it changed is neither remembered nor given to those who ask later (${change})`,
    async (t) => {
      const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
      let resolve: (value: Value) => void = () => undefined
      const before = cache.get('a', () => new Promise<Value>((arrive) => (resolve = arrive)))
      cache[change]('a')
      const after = cache.get('a', async () => ({ text: 'new' }))
      resolve({ text: 'old' })
      t.strictSame([await before, await after], [{ text: 'old' }, { text: 'new' }])
      t.strictSame(
        cache.get('a', async () => ({ text: 'not read' })),
        { text: 'new' },
      )
    },
  )
}

t.test('What is known can be changed in place; what is not known stays so', async (t) => {
  const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
  cache.change('a', () => ({ text: 'made up' }))
  t.strictSame(await cache.get('a', async () => ({ text: 'old' })), { text: 'old' })
  cache.change('a', ({ text }) => ({ text: `${text}, changed` }))
  t.strictSame(
    cache.get('a', async () => ({ text: 'not read' })),
    { text: 'old, changed' },
  )
  cache.change('a', () => undefined)
  t.strictSame(await cache.get('a', async () => ({ text: 'new' })), { text: 'new' })
})

t.test('A read that fails is told to all who wait for it, and is not remembered', async (t) => {
  const cache = new ReadCache<Value>({ name: 'lists', maxSize: 10, meter: noopMeter })
  const failing = async (): Promise<Value> => await Promise.reject(new Error('a bad block'))
  const [one, other] = [cache.get('a', failing), cache.get('a', failing)]
  await t.rejects(Promise.resolve(one), { message: 'a bad block' })
  await t.rejects(Promise.resolve(other), { message: 'a bad block' })
  t.strictSame(await cache.get('a', async () => ({ text: 'good' })), { text: 'good' })
})

t.test('No more is kept than fits', async (t) => {
  const cache = new ReadCache<Value>({
    name: 'lists',
    maxSize: 100,
    sizeOf: ({ text }) => text.length,
    meter: noopMeter,
  })
  const read = async (key: string): Promise<Value | undefined> =>
    await cache.get(key, async () => ({ text: 'x'.repeat(30) }))
  for (const key of ['a', 'b', 'c', 'd']) await read(key)
  let reads = 0
  for (const key of ['b', 'c', 'd', 'a']) await cache.get(key, async () => ({ text: `${++reads}` }))
  t.equal(reads, 1, 'the one that was used longest ago is gone')
  await cache.get('large', async () => ({ text: 'x'.repeat(200) }))
  t.ok(cache.get('large', async () => ({ text: 'again' })) instanceof Promise, 'what does not fit at all is not kept')
})
