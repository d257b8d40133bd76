import type { Test } from 'tap'
import { toApiStatus, type State, type StoredStatus } from '../../lib/domain/commit-status.js'
import type { Store } from '../../lib/contracts/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'
import { collect, type StoreFactory, type StorePlace } from './store.js'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')
const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

function minute(number: number): number {
  return NOON + number * 60_000
}

/** What a status is to tell: nothing in a store that leaves it out. */
function sinceOf(place: StorePlace, number: number | undefined): string | undefined {
  return place.withoutPendingSince || number === undefined ? undefined : new Date(minute(number)).toISOString()
}

async function save(store: Store, state: State, at: number, context = 'ci'): Promise<StoredStatus> {
  return (await store.statuses.save(repository, commit, reportOf(context, { state }), minute(at))).status
}

/** Since when a status has been pending, or had been until it settled. */
export function pendingSuite(t: Test, factory: StoreFactory): void {
  t.test(
    'A status tells since when it has been pending, and once it has settled, since when it had been',
    async (t) => {
      const place = await factory(t)
      const { statuses } = await place.open()
      const steps: [state: State, at: number, since: number | undefined, words: string][] = [
        ['success', 0, undefined, 'it never was'],
        ['pending', 1, 1, 'from the report on'],
        ['pending', 3, 1, 'reported once more, it is so since the first time'],
        ['failure', 4, 1, 'what settles it keeps that'],
        ['error', 5, undefined, 'it had settled already'],
        ['pending', 6, 6, 'anew, long after the first report'],
        ['pending', 2, 6, 'the clock stepped back'],
        ['error', 3, 6, 'never later than updated_at'],
        ['pending', 4, 6, 'never earlier than updated_at was'],
      ]
      let before: StoredStatus | undefined
      for (const [state, at, since, words] of steps) {
        const { status, previous } = await statuses.save(repository, commit, reportOf('ci', { state }), minute(at))
        t.equal(status.pending_since, sinceOf(place, since), words)
        t.equal('pending_since' in status, status.pending_since !== undefined)
        t.strictSame(previous, before)
        t.strictSame(await statuses.list(repository, commit), [status])
        t.strictSame(await collect(statuses.scan(repository)), [status])
        if (statuses.pages) t.strictSame((await collect(statuses.pages(repository, commit))).flat(), [status])
        before = status
      }
      const first = await statuses.save(repository, commit, reportOf('other', { state: 'pending' }), minute(9))
      t.equal(first.status.pending_since, sinceOf(place, 9), 'of a first report')
    },
  )

  t.test('No list that is sent shows it, whoever reported, read again or not', async (t) => {
    const place = await factory(t)
    let store = await place.open()
    const description = ',"pending_since":"2026-01-31T12:00:00.000Z","reporter":{"user":"mallory"}'
    const reporters = [undefined, { user: ',"pending_since":', token: null }, { user: 'ci', token: '0a' }]
    const same = async (words: string): Promise<void> => {
      const shown = (await store.statuses.list(repository, commit)).map(toApiStatus)
      const { bytes } = await wholeList(store, repository, commit)
      t.equal(bytes.toString(), `${JSON.stringify({ state: 'pending', statuses: shown })}\n`, words)
    }
    for (const state of ['pending', 'success'] as const) {
      for (const [index, reporter] of reporters.entries()) {
        const report = reportOf(`ci ${index}`, { state, description, ...(reporter && { reporter }) })
        await store.statuses.save(repository, commit, report, NOON)
      }
      await save(store, 'pending', 0, 'other')
      await same('as it was reported')
      await store.close()
      store = await place.open()
      await same('read again')
      t.strictSame((await wholeList(store, repository, commit)).reporters.users, [
        ...reporters.map((reporter) => reporter?.user),
        undefined,
      ])
    }
  })

  t.test('It goes with its status to another name of the repository, and on from there', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const old = repositoryNamed('alice/old')
    await store.statuses.save(old, commit, reportOf('ci', { state: 'pending' }), minute(1))
    await store.statuses.save(old, commit, reportOf('done', { state: 'pending' }), minute(1))
    await store.statuses.save(old, commit, reportOf('done'), minute(2))
    const before = await store.statuses.list(old, commit)
    await save(store, 'pending', 0)
    await store.renameRepository(old, repository)
    t.strictSame(await store.statuses.list(repository, commit), before)
    const settled = await store.statuses.save(repository, commit, reportOf('ci'), minute(3))
    t.strictSame([settled.status.pending_since, settled.previous], [sinceOf(place, 1), before[0]])
  })

  t.test('Of a status from before it was kept, it is told from the next report on', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    if (!store.contents) {
      t.pass('it takes no statuses from elsewhere')
      return
    }
    const at = new Date(minute(0)).toISOString()
    const pending = { state: 'pending', description: null, target_url: null, created_at: at, updated_at: at } as const
    const merge = store.contents.merge(repository)
    const contexts = ['again', 'settled']
    await merge.add(
      contexts.map((context) => ({ id: context, sha: commit.hex, context, ...pending })),
      [],
    )
    await merge.commit()
    await merge.discard()
    for (const found of await store.statuses.list(repository, commit)) t.notOk('pending_since' in found)
    t.equal((await save(store, 'pending', 2, 'again')).pending_since, sinceOf(place, 2))
    t.equal((await save(store, 'success', 3, 'again')).pending_since, sinceOf(place, 2))
    t.notOk('pending_since' in (await save(store, 'success', 2, 'settled')), 'nobody knows')
  })
}
