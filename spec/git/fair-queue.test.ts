import t from 'tap'
import { FairQueue } from '../../lib/git/fair-queue.js'

function queueOf(max: number, ...names: string[]) {
  const queue = new FairQueue<{ directory: string; name: string }>(max)
  const items = names.map((name) => ({ directory: name.charAt(0), name }))
  const lost = items.map((item) => queue.add(item)?.name)
  const take = (except = '') => queue.take((directory) => directory !== except)?.name
  return { queue, items, lost, take }
}

t.test('Repositories take turns, those of one are in line', (t) => {
  const { take } = queueOf(10, 'a1', 'a2', 'a3', 'b1', 'c1', 'c2')
  t.strictSame(
    Array.from({ length: 7 }, () => take()),
    ['a1', 'b1', 'c1', 'a2', 'c2', 'a3', undefined],
  )
  t.end()
})

t.test('One that may not have its turn at the moment keeps it', (t) => {
  const { take } = queueOf(10, 'a1', 'b1', 'b2', 'c1')
  t.strictSame([take('a'), take('a'), take(), take('b'), take()], ['b1', 'c1', 'a1', undefined, 'b2'])
  t.end()
})

t.test('Where there is no place left, the last one of the longest line has to go', (t) => {
  const { lost, take } = queueOf(3, 'a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'a4')
  t.strictSame(lost, [undefined, undefined, undefined, 'a3', 'a2', 'd1', 'a4'], 'the newcomer where it is as long')
  t.strictSame([take(), take(), take(), take()], ['a1', 'b1', 'c1', undefined])
  t.end()
})

t.test('Whoever goes leaves the place to another', (t) => {
  const { queue, items, take } = queueOf(3, 'a1', 'b1', 'b2')
  const [first, , last] = items
  for (const item of [first, last, last]) if (item) queue.remove(item)
  t.strictSame(
    ['c1', 'c2', 'c3'].map((name) => queue.add({ directory: 'c', name })?.name),
    [undefined, undefined, 'c3'],
  )
  t.equal(take(), 'b1')
  t.strictSame(
    queue.clear().map(({ name }) => name),
    ['c1', 'c2'],
  )
  t.equal(take(), undefined)
  t.end()
})
