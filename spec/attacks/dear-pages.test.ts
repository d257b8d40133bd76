// Pages and lists of a commit with a thousand contexts of 3.5 kB cost 60 to 100 ms of the processor each, as often as
// a parameter was one that nobody had asked with before: all rows were made and few shown, and what is read in pieces
// was taken apart as it came, the pieces of a dozen clients in one turn of the event loop. Measured with twelve
// clients, the longest turn took 50 ms of the processor, and takes 14.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { StoredStatus } from '../../lib/domain/commit-status.js'
import type { Answer } from '../../lib/http/exchange.js'
import { Listing } from '../../lib/http/compatible/listing.js'
import { commitFragment, commitPage, type CommitView } from '../../lib/pages/commit-page.js'
import { pageAnswer } from '../../lib/pages/html/layout.js'
import { partOfList, wholeList } from '../../lib/pages/status-summary.js'
import { tokensPage } from '../../lib/pages/tokens-page.js'
import { NOBODY } from '../../lib/pages/visitor.js'
import { largeList, serialisedList, toText, type SentList } from '../../lib/domain/status-list.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { needsLevel } from '../fixtures/service.js'

const CONTEXTS = 1_000
const TIME = '2026-01-31T12:34:56.789Z'

/** The statuses of a commit. @param stateOf of the one at this place */
function statuses(stateOf: (place: number) => StoredStatus['state']): StoredStatus[] {
  return Array.from({ length: CONTEXTS }, (_, place) => ({
    id: String(place),
    sha: 'a'.repeat(40),
    context: `c${String(place).padStart(4, '0')}`,
    state: stateOf(place),
    description: 'd'.repeat(3_000),
    target_url: null,
    created_at: TIME,
    updated_at: TIME,
  }))
}

function textOf({ body }: Answer): string {
  return Buffer.isBuffer(body) ? body.toString() : ''
}

/** Each with its text, and how often it was asked for. */
function counted<T extends object>(items: readonly T[], member: keyof T & string): { items: T[]; asked: () => number } {
  let asked = 0
  const watched = items.map((item) => {
    const value = item[member]
    return Object.defineProperty({ ...item }, member, {
      get: () => {
        asked++
        return value
      },
    })
  })
  return { items: watched, asked: () => asked }
}

/** A large list, and how many of its pieces were read since. */
async function inPieces(stateOf: (place: number) => StoredStatus['state']) {
  const all = statuses(stateOf).map(toText)
  let read = 0
  const list: SentList = await largeList({
    async *pages() {
      for (let at = 0; at < all.length; at += 100) {
        read++
        yield await Promise.resolve(all.slice(at, at + 100))
      }
    },
    close: () => Promise.resolve(),
  })
  read = 0
  return { list, read: () => read }
}

t.test('Of a page those rows are made that it shows, and one more', async (t) => {
  const shows = (text: string): number => text.split('<li>').length - 1
  for (const skip of [0, 7, 990]) {
    const { items, asked } = counted(
      statuses(() => 'success'),
      'description',
    )
    const view: CommitView = {
      ...wholeList({ state: 'success', statuses: items }),
      ...{
        base: '',
        name: repositoryNamed('alice/hello'),
        sha: 'a'.repeat(40),
        children: [],
        commit: undefined,
        address: undefined,
        skip,
      },
      ...{ isReloading: true, now: 0, origin: 'http://localhost', service: 'http://localhost' },
    }
    const page = shows(
      textOf(pageAnswer({ base: '', site: '', signInUrl: '/sign-in', visitor: NOBODY }, commitPage(view))),
    )
    t.ok(page > 3 && asked() <= 2 * (page + 1), `${page} rows of a page, ${asked()} descriptions`)
    const before = asked()
    const fragment = shows(commitFragment(view).toString())
    t.ok(fragment > 2 && asked() - before <= 2 * (fragment + 1), `${fragment} rows of a piece of another page`)
  }
  const tokens = Array.from({ length: CONTEXTS }, (_, place) => ({
    ...{ id: String(place), user: 'alice', scopes: ['repo'], created_at: TIME, expires_at: null, last_used_at: null },
    name: 'n'.repeat(100),
  }))
  const { items, asked } = counted(tokens, 'name')
  const view = tokensPage({ base: '', tokens: items, now: 0, skip: 0 })
  const shown = shows(textOf(pageAnswer({ base: '', site: '', signInUrl: '/sign-in', visitor: NOBODY }, view)))
  t.ok(shown > 10 && asked() <= 3 * (shown + 1), `${shown} tokens, ${asked()} names`)
})

t.test('Of a list that is not in memory no more is read than what is shown is in', async (t) => {
  const green = await inPieces(() => 'success')
  const { list, counts, hidden } = await partOfList(green.list)
  t.strictSame([list.statuses.length, counts.success, hidden, green.read()], [0, CONTEXTS, CONTEXTS, 0])

  const red = await inPieces((place) => (place < 450 ? 'failure' : 'success'))
  const { list: failed, counts: all, hidden: others } = await partOfList(red.list)
  t.strictSame([failed.statuses.length, all.failure, others, red.read()], [100, 450, CONTEXTS - 100, 1])

  const held = serialisedList(statuses((place) => (place === 7 ? 'failure' : 'success')).map(toText))
  t.match(await partOfList(held), { counts: { failure: 1, success: CONTEXTS - 1 }, hidden: CONTEXTS - 1 })

  const one = await inPieces((place) => (place === 250 ? 'error' : 'success'))
  t.strictSame(
    (await partOfList(one.list)).list.statuses.map(({ context }) => context),
    ['c0250'],
  )
  t.equal(one.read(), 3)
})

t.test('Lists through the compatible APIs are taken apart once, and then what is on the page', async (t) => {
  const parse = JSON.parse.bind(JSON)
  let parsed = 0
  t.intercept(JSON, 'parse', {
    value: (text: string): unknown => {
      parsed++
      return parse(text)
    },
  })
  const contextsOn = async (number: number, only?: string) => {
    const { list, read } = await inPieces(() => 'success')
    parsed = 0
    const answer = await new Listing().answer(list, () => ({
      key: '',
      page: { number, size: 2 },
      compare: (one, other) => (one.context < other.context ? -1 : 1),
      ...(only !== undefined && { selects: ({ context }) => context === only }),
      body: ({ statuses, total, state }) => ({ shown: statuses.map(({ context }) => context), total, state }),
      headers: () => ({}),
    }))
    return { ...(parse(textOf(answer)) as object), read: read(), parsed }
  }
  const whole = { total: CONTEXTS, state: 'success' }
  t.strictSame(await contextsOn(1), { shown: ['c0000', 'c0001'], ...whole, read: 11, parsed: CONTEXTS + 2 })
  t.strictSame(await contextsOn(500), { shown: ['c0998', 'c0999'], ...whole, read: 20, parsed: CONTEXTS + 2 })
  t.strictSame(await contextsOn(501), { shown: [], ...whole, read: 10, parsed: CONTEXTS })
  const found = { shown: ['c0123'], total: 1, state: 'success', read: 12, parsed: CONTEXTS + 1 }
  t.strictSame(await contextsOn(1, 'c0123'), found)
  t.strictSame(await contextsOn(1, 'none'), { shown: [], total: 0, state: 'success', read: 10, parsed: CONTEXTS })
})

t.test('Twelve clients take turns, so that others are answered between two pieces', { skip: needsLevel }, async (t) => {
  const pieces = { sinceTurn: 0, most: 0, all: 0 }
  const { snapshot } = LevelDatabase.prototype
  t.intercept(LevelDatabase.prototype, 'snapshot', {
    value: function (this: LevelDatabase, prefix: string) {
      const made = snapshot.call(this, prefix)
      return {
        ...made,
        async *pages() {
          for await (const entries of made.pages()) {
            pieces.all++
            pieces.most = Math.max(pieces.most, ++pieces.sinceTurn)
            yield entries
          }
        },
      }
    },
  })
  const { service, repositories } = await embed(t, { pages: { session: () => undefined }, compatibleApis: ['gitlab'] })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const description = '\u{1f600}'.repeat(800)
  for (const place of Array.from({ length: 10 }, (_, index) => index * 30)) {
    const some = Array.from({ length: 30 }, async (_, index) => {
      const state = index === 0 ? 'failure' : 'success'
      await service.report('alice/hello', sha, { state, context: `c${place + index}`, description })
    })
    await Promise.all(some)
  }
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const state = { over: false }
  const turns = (async () => {
    while (!state.over) {
      pieces.sinceTurn = 0
      await setImmediate()
    }
  })()
  const commit = `${url}/repos/alice/hello/commits/${sha}`
  const list = `${url}/api/v4/projects/alice%2Fhello/repository/commits/${sha}/statuses`
  const states = `${url}/api/v1/repos/alice/hello/states?sha=${sha}&failed=20`
  const answers = Array.from({ length: 12 }, async (_, index) => {
    const which = [`${commit}?skip=${index}`, `${list}?name=c${index}`, `${states}&x=${index}`]
    const response = await fetch(which[index % which.length] ?? '')
    await response.text()
    return response.status
  })
  t.strictSame(new Set(await Promise.all(answers)), new Set([200]))
  state.over = true
  await turns
  t.ok(pieces.all > 100, `${pieces.all} pieces`)
  // One; two where the counter is set back before the first of them, and after the second.
  t.ok(pieces.most <= 2, `${pieces.most} pieces at most in a turn`)
})
