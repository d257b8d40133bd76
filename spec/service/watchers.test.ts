import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { StatusStore } from '../../lib/contracts/store.js'
import { Watchers } from '../../lib/service/watchers.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { until } from '../fixtures/within.js'

const repository = repositoryNamed('alice/hello')

function storeOf(more: Partial<StatusStore> = {}): StatusStore {
  const none = () => {
    throw new Error('nobody asks')
  }
  return { save: none, list: none, scan: none, ...more }
}

t.test('10,000 waits take less than 50 MB, and one look a round for all of them', async (t) => {
  const asked: number[] = []
  const digests: StatusStore['digests'] = async (commits) => {
    asked.push(commits.length)
    return commits.map(() => '')
  }
  const waits = new Watchers(10_000, storeOf({ digests }))
  const before = process.memoryUsage()
  const all = Array.from({ length: 10_000 }, (_, index) =>
    waits.begin(repository, commitId(`1${index.toString(16).padStart(4, '0')}`)),
  )
  const over = Promise.all(all.map(async (wait) => await wait?.next(60_000)))
  const after = process.memoryUsage()
  const used = after.heapUsed + after.external - before.heapUsed - before.external
  t.ok(used < 50e6, `${Math.round(used / 1e5) / 10} MB`)
  t.equal(waits.begin(repository, commitId('c0ffee')), undefined)
  await until(() => asked.length > 0)
  t.equal(asked[0], 10_000)
  await over
  for (const wait of all) wait?.close()
  t.equal(waits.size, 0)
  await waits.close()
})

t.test('A change between two looks is not missed', async (t) => {
  const waits = new Watchers(1, storeOf())
  const wait = waits.begin(repository, commitId('a'))
  waits.changed(repository, commitId('b'))
  waits.changed(repository, commitId('a'))
  await wait?.next(60_000)
  const begun = performance.now()
  await wait?.next(20)
  t.ok(performance.now() - begun >= 15, 'it is told once')
  waits.anyChanged('alice/other')
  waits.anyChanged('alice/hello')
  await wait?.next(60_000)
  waits.anyChanged()
  await wait?.next(60_000)
  wait?.close()
  wait?.close()
  t.equal(waits.size, 0)
})

t.test('A store that cannot be read, or a part of it, wakes nobody, and is read again', async (t) => {
  let looks = 0
  const digests: StatusStore['digests'] = async () => {
    if (++looks === 1) throw new Error('the database is away')
    if (looks === 2) return [undefined]
    return await Promise.resolve(looks < 5 ? ['one'] : ['two'])
  }
  const waits = new Watchers(1, storeOf({ digests }), 10)
  const wait = waits.begin(repository, commitId('a'))
  await wait?.next(60_000)
  t.equal(looks, 3, 'the first answer: nobody knows what was there before')
  await wait?.next(60_000)
  t.equal(looks, 5, 'and then a change')
  const closed = waits.close()
  await wait?.next(60_000)
  t.ok(wait?.isOver)
  wait?.close()
  await closed
  t.equal(waits.begin(repository, commitId('a')), undefined, 'at the closing nobody begins to wait')
})

t.test('A look that takes long is over before the next begins', async (t) => {
  let [looks, begun, most] = [0, 0, 0]
  const digests: StatusStore['digests'] = async () => {
    most = Math.max(most, ++begun)
    await setTimeout(40)
    begun--
    return [String(looks++)]
  }
  const waits = new Watchers(1, storeOf({ digests }), 5)
  const wait = waits.begin(repository, commitId('a'))
  for (const _ of [1, 2]) await wait?.next(60_000)
  t.strictSame([looks, most], [2, 1])
  wait?.close()
  await waits.close()
})
