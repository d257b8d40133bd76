import t from 'tap'
import { Lookups } from '../../lib/store/postgres/lookups.js'

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

t.test('What is asked together goes together, and everybody gets what he asked for', async (t) => {
  const sent: string[][] = []
  const lookups = new Lookups<string, string>(async (keys) => {
    sent.push([...keys])
    return await Promise.resolve((key) => `of ${key}`)
  })
  const answers = await Promise.all(['a', 'b', 'a'].map(async (key) => await lookups.get(key, key)))
  t.strictSame(sent, [['a', 'b']])
  t.strictSame(answers, ['of a', 'of b', 'of a'])
})

t.test('An answer is never from before its question: what is asked while a statement is on its way waits for another', async (t) => {
  let value = 0
  const ends: (() => void)[] = []
  const lookups = new Lookups<string, number>(async () => {
    const seen = value
    await new Promise<void>((resolve) => ends.push(resolve))
    return () => seen
  })
  const early = lookups.get('a', 'a')
  await turn()
  value = 1
  const late = lookups.get('a', 'a')
  await turn()
  t.equal(ends.length, 2)
  for (const end of ends) end()
  t.strictSame([await early, await late], [0, 1])
})

t.test('A few statements are on their way, no more', async (t) => {
  const sent: string[][] = []
  const ends: (() => void)[] = []
  const lookups = new Lookups<string, string>(async (keys) => {
    await new Promise<void>((resolve) => ends.push(resolve))
    sent.push([...keys])
    return (key) => key
  })
  const asked: Promise<string>[] = []
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    asked.push(lookups.get(key, key))
    await turn()
  }
  t.equal(ends.length, 2)
  t.notOk(lookups.isIdle)
  ends[0]?.()
  await turn()
  t.equal(ends.length, 3, 'the rest goes together')
  for (const end of ends) end()
  t.strictSame(await Promise.all(asked), ['a', 'b', 'c', 'd', 'e', 'f'])
  t.strictSame(sent, [['a'], ['b'], ['c', 'd', 'e', 'f']])
  t.ok(lookups.isIdle)
})

t.test('So many keys share a statement, no more', async (t) => {
  const sizes: number[] = []
  const lookups = new Lookups<number, number>(async (keys) => {
    sizes.push(keys.length)
    return await Promise.resolve((key) => key)
  })
  const keys = Array.from({ length: 250 }, (_, index) => index)
  t.strictSame(await Promise.all(keys.map(async (key) => await lookups.get(String(key), key))), keys)
  t.strictSame(sizes, [100, 100, 50])
})

t.test('A statement that fails fails for all who share it', async (t) => {
  const lookups = new Lookups<string, string>(async () => await Promise.reject(new Error('no')))
  await Promise.all(['a', 'b'].map(async (key) => await t.rejects(lookups.get(key, key), { message: 'no' })))
})
