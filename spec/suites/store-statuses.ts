import fc from 'fast-check'
import type { Test } from 'tap'
import { toApiStatus, type CommitStatus } from '../../lib/domain/commit-status.js'
import type { StatusStore } from '../../lib/contracts/store.js'
import { anyCharacter } from '../fixtures/any-character.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'
import { collect, openedStore, type StoreFactory } from './store.js'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')
const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

export function statusSuite(t: Test, factory: StoreFactory): void {
  t.test('A report becomes the status of its context, every field as reported', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const report = reportOf('ci/build', {
      state: 'error',
      description: 'a "quoted"\n\u{1f600} line',
      target_url: 'HTTP://ci.example/1?a=%20#b',
    })
    const { status, previous } = await statuses.save(repository, commit, report, NOON + 789)
    const { id, ...fields } = status
    t.match(id, /^\S+$/)
    t.strictSame(fields, {
      sha: commit.hex,
      ...report,
      created_at: '2026-01-31T12:00:00.789Z',
      updated_at: '2026-01-31T12:00:00.789Z',
    })
    t.equal(previous, undefined)
    t.strictSame(await statuses.list(repository, commit), [status])
  })

  t.test('A commit without statuses has an empty list, a repository without statuses an empty scan', async (t) => {
    const { statuses } = await openedStore(t, factory)
    t.strictSame(await statuses.list(repository, commit), [])
    t.strictSame(await collect(statuses.scan(repository)), [])
  })

  t.test('A later report replaces the status whole; id and created_at stay', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const first = await statuses.save(
      repository,
      commit,
      reportOf('ci', { state: 'pending', description: 'soon', target_url: 'https://ci.example/1' }),
      NOON,
    )
    const second = await statuses.save(repository, commit, reportOf('ci', { state: 'failure' }), NOON + 1000)
    t.strictSame(second.status, {
      ...first.status,
      state: 'failure',
      description: null,
      target_url: null,
      updated_at: '2026-01-31T12:00:01.000Z',
    })
    t.strictSame(second.previous, first.status)
    t.strictSame(await statuses.list(repository, commit), [second.status], 'the earlier status is not kept')
  })

  t.test('A status remembers who reported it last, and no list that is sent shows it', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const reporters = [
      { user: 'ci', token: '0123456789ab' },
      { user: 'host', token: null },
      { user: 'é "x",\n\u{1f600},"reporter":{"user":"y"}', token: null },
      undefined,
      { user: 'a\0b', token: null },
    ]
    let previous: unknown
    for (const reporter of reporters) {
      const sent = reportOf('ci', { description: ',"reporter":{"user":"mallory"}', ...(reporter && { reporter }) })
      const saved = await statuses.save(repository, commit, sent, NOON)
      t.strictSame([saved.status.reporter, saved.previous?.reporter], [reporter, previous])
      const [listed] = await statuses.list(repository, commit)
      t.strictSame(listed, saved.status)
      t.strictSame(await collect(statuses.scan(repository)), [saved.status])
      if (statuses.pages) t.strictSame((await collect(statuses.pages(repository, commit))).flat(), [saved.status])
      previous = reporter
    }
    const last = { user: 'ci', token: null }
    await statuses.save(repository, commit, reportOf('ci 2', { reporter: last }), NOON)
    const shown = (await statuses.list(repository, commit)).map(toApiStatus)
    for (const again of [false, true]) {
      const { bytes } = await wholeList({ statuses }, repository, commit)
      t.strictSame(JSON.parse(bytes.toString()), { state: 'success', statuses: shown }, `read again: ${again}`)
      await statuses.save(repository, commit, reportOf('ci 2', { reporter: { user: 'other', token: null } }), NOON)
    }
  })

  t.test('One context is what the list has of it', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const contexts = ['ci', 'ci/', 'ci/build', 'Ci', '*', 'ci\u0000x', '\u{1F600}']
    for (const context of contexts) await statuses.save(repository, commit, reportOf(context), NOON)
    const list = await statuses.list(repository, commit)
    const one = async (context: string, sha = commit) => await statuses.status?.(repository, sha, context)
    if (statuses.status) {
      for (const context of contexts)
        t.strictSame(
          await one(context),
          list.find((status) => status.context === context),
        )
      for (const context of ['c', 'ci/build/', 'CI', '']) t.equal(await one(context), undefined, context)
      t.equal(await one('ci', commitId('c0ffe1')), undefined)
    }
    t.equal(list.length, contexts.length)
  })

  t.test('The pages of a commit have what its list has, however much that is', async (t) => {
    const { statuses } = await openedStore(t, factory)
    for (const count of [0, 3, 700]) {
      const reports = Array.from({ length: count }, (_, index) => reportOf(`ci ${index}`, { description: `${count}` }))
      await Promise.all(reports.map(async (report) => await statuses.save(repository, commit, report, NOON)))
      const pages = statuses.pages ? await collect(statuses.pages(repository, commit)) : undefined
      t.strictSame(pages?.flat() ?? (await statuses.list(repository, commit)), await statuses.list(repository, commit))
      for await (const page of statuses.pages?.(repository, commit) ?? []) if (page.length > 0) break
    }
  })

  t.test('A repeat of the same report is harmless', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const once = await statuses.save(repository, commit, reportOf('ci'), NOON)
    const twice = await statuses.save(repository, commit, reportOf('ci'), NOON)
    t.strictSame(twice, { status: once.status, previous: once.status })
  })

  t.test('updated_at never goes back when the clock steps back', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const times = []
    for (const at of [NOON, NOON - 3_600_000, NOON + 1, NOON - 1]) {
      const { status } = await statuses.save(repository, commit, reportOf('ci'), at)
      times.push([status.created_at, status.updated_at])
    }
    const noon = '2026-01-31T12:00:00.000Z'
    t.strictSame(times, [
      [noon, noon],
      [noon, noon],
      [noon, '2026-01-31T12:00:00.001Z'],
      [noon, '2026-01-31T12:00:00.001Z'],
    ])
  })

  t.test('Every status has an id of its own', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const places = ['alice/hello', 'bob/hello'].flatMap((name) =>
      ['1', '2'].flatMap((sha) => ['x', 'y'].map((context) => [name, sha, context] as const)),
    )
    const saved = await Promise.all(
      places.map(([name, sha, context]) =>
        statuses.save(repositoryNamed(name), commitId(sha), reportOf(context), NOON),
      ),
    )
    t.equal(new Set(saved.map(({ status }) => status.id)).size, places.length)
  })

  t.test('Lists and scans are ordered by the UTF-8 bytes of the contexts', async (t) => {
    const { statuses } = await openedStore(t, factory)
    // Saved in the order of neither bytes nor UTF-16 nor any language.
    const contexts = [
      ...[
        '\u{1f600}',
        '\u{10ffff}',
        '\ufffd',
        '\uffff',
        '\ue000',
        '\u{10000}',
        'é',
        'e\u0301',
        'z',
        'Z',
        'ä',
        'ß',
        'ss',
        '\u0001',
        '\u007f',
        '\u0080',
      ],
      ...[
        'ci',
        'ci/',
        'ci/a',
        'ci//a',
        'ci a',
        'ci!a',
        'ci-a',
        'ci.a',
        'ci0',
        '/',
        '//',
        ' ',
        '  ',
        '!',
        '!tokens!x',
        '%',
        '_',
        '\\',
        "'",
        '"',
        '\n',
        '..',
        'default',
      ],
      ...[
        'x'.repeat(254),
        'x'.repeat(255),
        `${'x'.repeat(254)}y`,
        '\u{1f600}'.repeat(255),
        `${'\u{1f600}'.repeat(254)}\u{1f601}`,
      ],
    ]
    for (const context of contexts)
      await statuses.save(repository, commit, reportOf(context, { description: context }), NOON)
    const sorted = [...contexts].sort(byBytes)
    t.strictSame(
      (await statuses.list(repository, commit)).map((status) => status.context),
      sorted,
    )
    t.strictSame(
      (await statuses.list(repository, commit)).map((status) => status.description),
      sorted,
    )
    t.strictSame(
      (await collect(statuses.scan(repository))).map((status) => status.context),
      sorted,
    )
  })

  t.test('Any contexts are kept apart, as they are and in the order of their bytes', async (t) => {
    const { statuses } = await openedStore(t, factory)
    let commits = 0
    const context = fc
      .string({ unit: anyCharacter, minLength: 1, maxLength: 255 })
      .filter((text) => !text.includes('\0'))
    const nearby = fc.string({
      unit: fc.constantFrom('a', '/', '!', '-', '.', ' ', '\u0301', '\uffff', '\u{10000}'),
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.oneof(context, nearby), { maxLength: 20 }), async (contexts) => {
        const commit = commitId((++commits).toString(16).padStart(8, '0'))
        await Promise.all(contexts.map((context) => statuses.save(repository, commit, reportOf(context), NOON)))
        t.strictSame(
          (await statuses.list(repository, commit)).map((status) => status.context),
          [...contexts].sort(byBytes),
        )
      }),
      { numRuns: 50 },
    )
  })

  t.test('A commit that has its number of contexts takes no other one; those it has are replaced', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const save = async (context: string, limit?: number) =>
      await statuses.save(repository, commit, reportOf(context, { state: 'pending' }), NOON, limit)
    for (const context of ['a', 'b', 'c']) await save(context, 3)
    await t.rejects(save('d', 3), { name: 'ContextLimitReached', message: /limits\.contexts is 3$/ })
    await t.rejects(save('d', 1), { name: 'ContextLimitReached' })
    t.equal((await save('b', 3)).previous?.context, 'b')
    t.equal((await save('b', 1)).previous?.context, 'b')
    await statuses.save(repository, commitId('2'), reportOf('d'), NOON, 3)
    await statuses.save(repositoryNamed('alice/hello-2'), commit, reportOf('d'), NOON, 3)
    t.strictSame(await contextsOf(statuses), ['a', 'b', 'c'])
    await save('without a limit')
    await statuses.remove?.(repository, commit, 'a')
    await t.rejects(save('d', 3), { name: 'ContextLimitReached' })
    await statuses.remove?.(repository, commit, 'c')
    await save('d', 3)
    t.strictSame(await contextsOf(statuses), ['b', 'd', 'without a limit'])
  })

  t.test('Reports at once never pass the limit together, and none of those that fit is refused', async (t) => {
    const { statuses } = await openedStore(t, factory)
    for (const [limit, before] of [
      [10, 0],
      [200, 100],
      [1000, 990],
    ] as const) {
      const commit = commitId(String(limit))
      const save = async (context: string) => await statuses.save(repository, commit, reportOf(context), NOON, limit)
      await Promise.all(Array.from({ length: before }, async (_, index) => await save(`before ${index}`)))
      // A tenth comes in a second wave, while the first is on its way.
      const many = Array.from({ length: 300 }, async (_, index) => {
        for (let turn = 0; turn < index % 10; turn++) await new Promise(setImmediate)
        return await save(`at once ${index}`)
      })
      const outcomes = await Promise.allSettled(many)
      t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, Math.min(300, limit - before))
      t.equal((await statuses.list(repository, commit)).length, Math.min(limit, before + 300))
    }
  })

  t.test('A list holds every context, however many', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const contexts = Array.from({ length: 2500 }, (_, index) => `check ${String(index).padStart(4, '0')}`)
    await Promise.all(contexts.map((context) => statuses.save(repository, commit, reportOf(context), NOON)))
    t.strictSame(
      (await statuses.list(repository, commit)).map((status) => status.context),
      contexts,
    )
  })

  t.test('Repositories and commits whose names begin alike are kept apart', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const names = [
      'a/b',
      'a/b-c',
      'a/b.c',
      'a/b_c',
      'a/b0',
      'a/bc',
      'a/B',
      'A/b',
      'a-b/c',
      'a.b/c',
      'a_b/c',
      'ab/c',
      'a/_tokens_',
      'tokens/a',
      'grants/a',
      'a/b/c',
      'a/b/c/d',
      `a/b/${commitId('12ab').hex}`,
      `a/b/${commitId('12ab').hex}/a`,
      'a/b=',
      'a/b,',
      'a/b@',
      'a+/b',
      '~a/b',
    ]
    // The SHA-256 id begins with the SHA-1 id.
    const commits = [commitId('12ab'), commitId('12ab', 64), commitId('12ac'), commitId('ffff')]
    const contexts = ['!', `${commitId('12ab').hex}/x`, 'a/b', `a/b/${commitId('12ab').hex}/x`, 'x']
    const mine = (name: string): string[] =>
      commits.flatMap(({ hex }) => contexts.map((context) => `${name} ${hex} ${context}`))
    for (const name of names) {
      await Promise.all(
        commits.flatMap((commit) =>
          contexts.map((context) =>
            statuses.save(repositoryNamed(name), commit, reportOf(context, { description: name }), NOON),
          ),
        ),
      )
    }
    for (const name of names) {
      const lists = await Promise.all(commits.map((commit) => statuses.list(repositoryNamed(name), commit)))
      t.strictSame(lists.flat().map(inOneLine), mine(name), `lists of ${name}`)
      t.strictSame(
        (await collect(statuses.scan(repositoryNamed(name)))).map(inOneLine),
        mine(name),
        `scan of ${name}, ordered by commit and then by context`,
      )
    }
  })

  t.test(
    'Parallel reports of one context are all acknowledged, in the order of the calls, with one id and created_at',
    async (t) => {
      const { statuses } = await openedStore(t, factory)
      const calls = Array.from({ length: 200 }, (_, index) => index)
      const saved = await Promise.all(
        calls.map((index) =>
          statuses.save(repository, commit, reportOf('ci', { description: `report ${index}` }), NOON + index),
        ),
      )
      t.strictSame(
        new Set(saved.map(({ status }) => `${status.id} ${status.created_at}`)),
        new Set([`${saved[0]?.status.id} 2026-01-31T12:00:00.000Z`]),
      )
      for (const index of calls) {
        t.equal(saved[index]?.status.description, `report ${index}`)
        t.strictSame(saved[index]?.previous, saved[index - 1]?.status)
      }
      t.strictSame(
        await statuses.list(repository, commit),
        [saved.at(-1)?.status],
        'the list shows the last one, whole',
      )
    },
  )

  t.test('A report that has been acknowledged is in the next list', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const contexts = Array.from({ length: 100 }, (_, index) => `check ${index}`)
    await Promise.all(
      contexts.map(async (context) => {
        const { status } = await statuses.save(repository, commit, reportOf(context), NOON)
        const listed = await statuses.list(repository, commit)
        t.strictSame(
          listed.find((other) => other.context === context),
          status,
        )
      }),
    )
  })

  t.test(
    'Statuses of a commit are removed, of one context or of all, and of nothing else; where the store offers it',
    async (t) => {
      const { statuses } = await openedStore(t, factory)
      if (!statuses.remove) return
      const places = ['alice/hello', 'alice/hello-2'].flatMap((name) =>
        [commit, commitId('c0ffee', 64), commitId('c0ffef')].map((id) => [repositoryNamed(name), id] as const),
      )
      for (const [name, id] of places)
        for (const context of ['ci', 'ci/a', 'c', '\uffff']) await statuses.save(name, id, reportOf(context), NOON)
      const left = async () =>
        await Promise.all(
          places.map(async ([name, id]) => (await statuses.list(name, id)).map((status) => status.context)),
        )
      const all = ['c', 'ci', 'ci/a', '\uffff']
      t.equal(await statuses.remove(repository, commit, 'none'), 0)
      t.equal(await statuses.remove(repository, commit, 'ci'), 1)
      t.strictSame(await left(), [['c', 'ci/a', '\uffff'], all, all, all, all, all])
      t.equal(await statuses.remove(repository, commit, 'ci'), 0)
      t.equal(await statuses.remove(repository, commit, undefined), 3)
      t.strictSame(await left(), [[], all, all, all, all, all])
      t.equal(await statuses.remove(repository, commit, undefined), 0)
    },
  )

  t.test('After a removal a report is the first of its context', async (t) => {
    const { statuses } = await openedStore(t, factory)
    if (!statuses.remove) return
    const first = await statuses.save(repository, commit, reportOf('ci'), NOON)
    // What was accepted before it is removed, what comes after it stays.
    const [second, removed, third] = await Promise.all([
      statuses.save(repository, commit, reportOf('ci'), NOON + 1),
      statuses.remove(repository, commit, 'ci'),
      statuses.save(repository, commit, reportOf('ci'), NOON + 2),
    ])
    t.strictSame([second.previous, removed, third.previous], [first.status, 1, undefined])
    t.not(third.status.id, first.status.id)
    t.equal(third.status.created_at, '2026-01-31T12:00:00.002Z')
    t.strictSame(await statuses.list(repository, commit), [third.status])
  })

  t.test('Statuses are counted for a repository, where the store has a way to it', async (t) => {
    const { statuses } = await openedStore(t, factory)
    if (!statuses.count) return
    t.equal(await statuses.count(repository), 0)
    for (const name of ['alice/hello', 'alice/hello-2'])
      for (const context of ['a', 'b']) await statuses.save(repositoryNamed(name), commit, reportOf(context), NOON)
    t.equal(await statuses.count(repository), 2)
  })

  t.test('A scan shows what was there when it began, and may be left early', async (t) => {
    const { statuses } = await openedStore(t, factory)
    const saved = []
    for (const context of ['b', 'd', 'f'])
      saved.push((await statuses.save(repository, commit, reportOf(context), NOON)).status)
    const scan = statuses.scan(repository)[Symbol.asyncIterator]()
    const seen = [(await scan.next()).value as CommitStatus]
    for (const context of ['a', 'c', 'f', 'g'])
      await statuses.save(repository, commit, reportOf(context, { state: 'failure' }), NOON + 1)
    for (let next = await scan.next(); next.done !== true; next = await scan.next()) seen.push(next.value)
    t.strictSame(seen, saved)
    for await (const status of statuses.scan(repository)) {
      t.equal(status.context, 'a')
      break
    }
  })
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** The description says in which repository it was saved. */
function inOneLine({ description, sha, context }: CommitStatus): string {
  return `${description ?? ''} ${sha} ${context}`
}

async function contextsOf(statuses: Pick<StatusStore, 'list'>): Promise<string[]> {
  return (await statuses.list(repository, commit)).map(({ context }) => context)
}
