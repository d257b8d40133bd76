import t from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { RecentStatus, StatusStore } from '../../lib/contracts/store.js'
import type { StoredStatus } from '../../lib/domain/commit-status.js'
import { StoreUnavailable } from '../../lib/errors.js'
import type { Follower } from '../../lib/service/feed.js'
import { StatusEvents } from '../../lib/service/status-events.js'
import { StatusFeeds } from '../../lib/service/status-feeds.js'
import { Watchers } from '../../lib/service/watchers.js'
import { repositoryNamed } from '../fixtures/names.js'
import { until } from '../fixtures/within.js'

const repository = repositoryNamed('alice/hello')

/** The time of all that follows. */
const now = Date.parse('2031-01-31T12:00:00.000Z')

function statusOf(context: string, at = 0, more: Partial<StoredStatus> = {}): StoredStatus {
  const updated_at = new Date(now + at).toISOString()
  return {
    ...{ id: context, sha: 'a'.repeat(40), context, state: 'success', description: null, target_url: null },
    ...{ created_at: updated_at, updated_at, ...more },
  }
}

interface Bounds {
  readonly lookMilliseconds?: number
  readonly maxRecent?: number
  readonly lingerMilliseconds?: number
  readonly keptCharacters?: number
  readonly feeds?: number
}

function feedsOf(bounds: Bounds = {}, recent?: StatusStore['recent']) {
  const events = new StatusEvents(silentLogger)
  const none = () => {
    throw new Error('nobody asks')
  }
  const watchers = new Watchers(5, { save: none, list: none, scan: none })
  const statuses = recent ? { recent } : {}
  const feeds = new StatusFeeds({ events, watchers, statuses, clock: { now: () => now } }, bounds)
  const report = (status: StoredStatus, name = repository.full) => {
    events.emit(() => ({
      ...{ repository: name, status: { ...status }, previous: undefined },
      reporter: { user: 'ci', token: null },
    }))
  }
  return { feeds, events, watchers, report }
}

/** What there is to read: the contexts of reports, and gaps. */
function readAll(follower: Follower): string[] {
  const all: string[] = []
  for (let event = follower.read(); event; event = follower.read()) {
    const { status } = JSON.parse(event.data) as { status?: { context: string } }
    all.push(status?.context ?? event.name)
  }
  return all
}

/** Statuses as other instances have saved them, and what becomes of the looks at them. */
function elsewhere() {
  const there = { version: 'a', statuses: [] as RecentStatus[] }
  const looks: number[] = []
  let held: Promise<void> | undefined
  let failure: Error | undefined
  const recent: StatusStore['recent'] = async (_, since, max) => {
    looks.push(since)
    const { version } = there
    const statuses = there.statuses.slice(0, max)
    await held
    if (failure) throw failure
    return { version, statuses }
  }
  return {
    there,
    looks,
    recent,
    save: (status: StoredStatus) => {
      there.statuses = [
        { status, previousState: undefined },
        ...there.statuses.filter((one) => one.status.context !== status.context),
      ]
    },
    fail: (error: Error | undefined) => (failure = error),
    /** What looks see from now on they tell of only later. @returns lets them */
    hold: () => {
      let release: () => void = () => undefined
      held = new Promise<void>((resolve) => (release = resolve))
      return () => {
        held = undefined
        release()
      }
    },
    looked: async (more = 2) => {
      const before = looks.length
      await until(() => looks.length >= before + more)
    },
  }
}

t.test('Where nobody follows nothing is kept, and no event is made', async (t) => {
  const { feeds, events, report } = feedsOf({ lingerMilliseconds: 0 })
  let made = 0
  const make = () => {
    made++
    return { repository: '', status: statusOf('x'), previous: undefined, reporter: { user: '', token: null } }
  }
  events.emit(make)
  t.equal(made, 0)
  const follower = await feeds.follow(repository, undefined)
  report(statusOf('a'))
  report(statusOf('b'), 'alice/other')
  t.strictSame(readAll(follower), ['a'])
  const { id } = follower
  follower.close()
  await until(() => {
    const before = made
    events.emit(make)
    return made === before
  })
  const again = await feeds.follow(repository, id)
  t.strictSame(readAll(again), ['gap'], 'after a while nothing is known of it')
  again.close()
  feeds.close()
})

t.test('So many events are kept, of all repositories, and a follower that is too slow hears of the gap', async (t) => {
  const { feeds, report } = feedsOf({ keptCharacters: 1000 })
  const [slow, quick] = [await feeds.follow(repository, undefined), await feeds.follow(repository, undefined)]
  const other = await feeds.follow(repositoryNamed('alice/other'), undefined)
  report(statusOf('a'))
  const { id } = slow
  t.strictSame(readAll(quick), ['a'])
  for (const context of ['b', 'c', 'd']) {
    report(statusOf(context, 0, { description: 'x'.repeat(100) }))
    t.strictSame(readAll(quick), [context])
  }
  t.strictSame([readAll(slow), readAll(slow)], [['gap'], []])
  report(statusOf('e'))
  t.strictSame([readAll(slow), readAll(quick)], [['e'], ['e']])
  t.strictSame(readAll(await feeds.follow(repository, id)), ['gap'])
  for (let count = 0; count < 5; count++) report(statusOf('x'), 'alice/other')
  t.strictSame(readAll(other).length <= 3, true)
  report(statusOf('y'.repeat(1000)))
  t.strictSame(readAll(quick), ['gap'], 'also what is larger than all of it')
  feeds.close()
})

t.test('Too many are refused; of the feeds that nobody follows the oldest goes', async (t) => {
  const { feeds, watchers } = feedsOf({ feeds: 2 })
  const followers = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async (name) => await feeds.follow(repositoryNamed(`alice/${name}`), undefined)),
  )
  await t.rejects(feeds.follow(repository, undefined), { code: 'overloaded' })
  t.equal(watchers.size, 5)
  const ids = followers.map(({ id }) => id)
  for (const follower of followers) {
    follower.close()
    follower.close()
  }
  t.equal(watchers.size, 0)
  const last = await feeds.follow(repositoryNamed('alice/f'), undefined)
  const [first, fifth] = [
    await feeds.follow(repositoryNamed('alice/a'), ids[0]),
    await feeds.follow(repositoryNamed('alice/f'), ids[4]),
  ]
  t.strictSame([readAll(first), readAll(fifth)], [['gap'], ['gap']])
  t.notOk(last.isOver)
  const closed = watchers.close()
  t.ok(last.isOver)
  for (const follower of [first, fifth, last]) follower.close()
  await closed
  await t.rejects(feeds.follow(repository, undefined), { code: 'overloaded' })
  feeds.close()
})

t.test('What others report is found, what was reported before is not, and nothing comes twice', async (t) => {
  const { there, recent, save, looked, looks } = elsewhere()
  save(statusOf('before', -1000))
  const { feeds, report } = feedsOf({ lookMilliseconds: 1 }, recent)
  const follower = await feeds.follow(repository, undefined)
  t.equal(looks[0], now - 600_000)
  save(statusOf('a', 1))
  there.statuses = [{ status: statusOf('b', 2), previousState: 'pending' }, ...there.statuses]
  await looked()
  t.equal(looks.at(-1), now - 60_000)
  const [a, b] = [follower.read(), follower.read()]
  t.match(a?.data, /"context":"a".*"previous_state":null/)
  t.match(b?.data, /"context":"b".*"previous_state":"pending"/)
  report(statusOf('mine', 3))
  save(statusOf('mine', 3))
  await looked()
  t.strictSame(readAll(follower), ['mine'])
  save(statusOf('theirs', 4))
  await looked()
  report(statusOf('theirs', 4))
  t.strictSame(readAll(follower), ['theirs'], 'a look has found it before this instance heard of it')
  save(statusOf('both', 6))
  await looked()
  report(statusOf('both', 5))
  t.strictSame(readAll(follower), ['both'], 'what comes late is no news')
  follower.close()
  feeds.close()
})

t.test('What is reported here while a look is under way comes in its order', async (t) => {
  const { recent, save, looked, hold } = elsewhere()
  const { feeds, report } = feedsOf({ lookMilliseconds: 1 }, recent)
  const follower = await feeds.follow(repository, undefined)
  const release = hold()
  save(statusOf('build', 1, { state: 'pending' }))
  await looked(1)
  report(statusOf('build', 1, { state: 'pending' }))
  report(statusOf('build', 2))
  save(statusOf('build', 2))
  release()
  await looked()
  const states: unknown[] = []
  for (let event = follower.read(); event; event = follower.read())
    states.push((JSON.parse(event.data) as { status: { state: string } }).status.state)
  t.strictSame(states, ['pending', 'success'])
  follower.close()
  feeds.close()
})

t.test('More than can be read is a gap', async (t) => {
  const { recent, save, looked } = elsewhere()
  for (const context of ['a', 'b', 'c', 'd']) save(statusOf(context, -1000))
  const { feeds } = feedsOf({ lookMilliseconds: 1, maxRecent: 3 }, recent)
  const follower = await feeds.follow(repository, undefined)
  await looked()
  t.strictSame(readAll(follower), [])
  for (const context of ['e', 'f', 'g']) save(statusOf(context, 1))
  await looked()
  t.strictSame(readAll(follower), ['gap', 'e', 'f', 'g'])
  follower.close()
  feeds.close()
})

t.test('A store that cannot be read: nobody begins to follow, and who does misses nothing', async (t) => {
  const { recent, save, looked, fail, hold } = elsewhere()
  const { feeds, watchers } = feedsOf({ lookMilliseconds: 1 }, recent)
  fail(new StoreUnavailable('down'))
  await t.rejects(feeds.follow(repository, undefined), { code: 'store_unavailable' })
  t.equal(watchers.size, 0)
  fail(undefined)
  const release = hold()
  const both = [feeds.follow(repository, undefined), feeds.follow(repository, undefined)]
  release()
  const [one, other] = await Promise.all(both)
  fail(new StoreUnavailable('down'))
  save(statusOf('a', 1))
  await looked()
  t.strictSame(one && readAll(one), [])
  fail(undefined)
  await looked()
  t.strictSame(
    [one, other].map((follower) => follower && readAll(follower)),
    [['a'], ['a']],
  )
  one?.close()
  other?.close()
  feeds.close()
})

t.test('A repository that another instance renames or deletes is another one', async (t) => {
  const { there, recent, looked } = elsewhere()
  const { feeds } = feedsOf({ lookMilliseconds: 1 }, recent)
  const follower = await feeds.follow(repository, undefined)
  there.version = 'b'
  await looked(1)
  await until(() => follower.isOver)
  const { id } = follower
  follower.close()
  const next = await feeds.follow(repository, id)
  t.strictSame(readAll(next), ['gap'])
  next.close()
  feeds.close()
})

t.test('Nobody looks while nobody follows; who comes back gets all of it, unless it is too much', async (t) => {
  const { recent, save, looks } = elsewhere()
  const { feeds, report } = feedsOf({ lookMilliseconds: 1, maxRecent: 3 }, recent)
  const follower = await feeds.follow(repository, undefined)
  const { id } = follower
  follower.close()
  await until(() => looks.length > 0)
  const before = looks.length
  save(statusOf('a', 1))
  report(statusOf('b', 1))
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.ok(looks.length <= before + 1)
  const again = await feeds.follow(repository, id)
  t.strictSame(readAll(again), ['b', 'a'])
  again.close()
  for (const context of ['c', 'd', 'e', 'f']) {
    save(statusOf(context, 2))
    report(statusOf(context, 2))
  }
  t.strictSame(readAll(await feeds.follow(repository, id)), ['gap'])
  feeds.close()
})

t.test('Behind an event of another instance, or from before a restart, it goes on, with some twice', async (t) => {
  const { there, recent, save } = elsewhere()
  const [one, other] = [feedsOf({}, recent), feedsOf({ keptCharacters: 2000 }, recent)]
  const follower = await one.feeds.follow(repository, undefined)
  t.equal(follower.read(), undefined)
  const begin = follower.id
  save(statusOf('late', -120_000))
  save(statusOf('a', -30_000))
  save(statusOf('b', 1000))
  const there_ = await other.feeds.follow(repository, begin)
  t.strictSame(readAll(there_), ['a', 'b'], 'what was reported up to a minute before may come twice')
  t.strictSame(readAll(await other.feeds.follow(repository, undefined)), [])
  const [id, position, time, version] = begin.split('.')
  const at = async (...parts: unknown[]) => {
    const again = await other.feeds.follow(repository, parts.join('.'))
    const all = readAll(again)
    again.close()
    return all
  }
  t.strictSame(await at(id, position, now + 120_000, version), [])
  t.strictSame(await at(id, position, now - 9 * 60_000, version), ['late', 'a', 'b'])
  for (const parts of [
    [id, position, now - 9 * 60_000 - 1, version],
    [id, position, time, 'other'],
    [id, position, '', version],
    [id, position],
  ])
    t.strictSame(await at(...parts), ['gap'])
  there.statuses = []
  for (const context of 'cdefghij') other.report(statusOf(context, 2000))
  t.strictSame(await at(id, position, time, version), ['gap'], 'too much since')
  one.feeds.close()
  other.feeds.close()
})

t.test('Of very many that were reported before, the latest are kept', async (t) => {
  const { recent, save } = elsewhere()
  for (let count = 0; count < 501; count++) save(statusOf(String(count), -120_000 + count))
  const { feeds } = feedsOf({}, recent)
  const at = async (time: number) => {
    const follower = await feeds.follow(repository, `x.0.${time}.a`)
    const all = readAll(follower)
    follower.close()
    return all
  }
  t.strictSame(await at(now - 60_000), ['gap'])
  t.equal((await at(now - 60_000 + 1)).length, 500)
  feeds.close()
})
