import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { batchLoader } from '../../lib/store/postgres/batch-loader.js'

t.test('What is asked together goes together, and everybody gets what was asked for', async (t) => {
  const sent: string[][] = []
  const loader = batchLoader<string, string>(async (keys) => {
    sent.push([...keys])
    return await Promise.resolve((key) => `of ${key}`)
  })
  t.strictSame(await Promise.all(['a', 'b'].map(async (key) => await loader.load(key))), ['of a', 'of b'])
  t.strictSame(sent, [['a', 'b']])
})

t.test('An answer is never from before its question: it comes of a statement that began after it', async (t) => {
  let value = 0
  const ends: (() => void)[] = []
  const loader = batchLoader<string, number>(async () => {
    const seen = value
    await new Promise<void>((resolve) => ends.push(resolve))
    return () => seen
  })
  const early = loader.load('a')
  while (ends.length < 1) await setImmediate()
  value = 1
  const late = loader.load('a')
  while (ends.length < 2) await setImmediate()
  for (const end of ends) end()
  t.strictSame([await early, await late], [0, 1])
})

t.test('Two statements are on their way, no more; what is asked meanwhile shares the next', async (t) => {
  const sent: string[][] = []
  const ends: (() => void)[] = []
  const loader = batchLoader<string, string>(async (keys) => {
    sent.push([...keys])
    await new Promise<void>((resolve) => ends.push(resolve))
    return (key) => key
  })
  const asked: Promise<string>[] = []
  for (const key of ['a', 'b', 'c', 'd']) {
    asked.push(loader.load(key))
    for (let turns = 0; turns < 3; turns++) await setImmediate()
  }
  t.strictSame(sent, [['a'], ['b']])
  ends[0]?.()
  while (ends.length < 3) await setImmediate()
  t.strictSame(sent, [['a'], ['b'], ['c', 'd']])
  for (const end of ends) end()
  t.strictSame(await Promise.all(asked), ['a', 'b', 'c', 'd'])
})

t.test('Thirty-two keys share a statement, no more', async (t) => {
  const sizes: number[] = []
  const loader = batchLoader<number, number>(async (keys) => {
    sizes.push(keys.length)
    return await Promise.resolve((key) => key)
  })
  const keys = Array.from({ length: 70 }, (_, index) => index)
  t.strictSame(await Promise.all(keys.map(async (key) => await loader.load(key))), keys)
  t.strictSame(sizes, [32, 32, 6])
})

t.test('A statement that fails fails for all who share it, and for nobody after them', async (t) => {
  let fails = true
  const loader = batchLoader<string, string>(async () =>
    fails ? await Promise.reject(new Error('no')) : (key) => `of ${key}`,
  )
  await Promise.all(['a', 'b'].map(async (key) => await t.rejects(loader.load(key), { message: 'no' })))
  fails = false
  t.equal(await loader.load('a'), 'of a')
})
