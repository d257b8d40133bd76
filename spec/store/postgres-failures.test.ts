import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { StoreFenced, StoreUnavailable } from '../../lib/errors.js'
import type { Logger } from '../../lib/contracts/logger.js'
import { noopMeter, type Meter } from '../../lib/contracts/meter.js'
import type { Store } from '../../lib/contracts/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

interface Opened {
  readonly measured: string[]
  readonly gauges: ReadonlyMap<string, () => number | Promise<number>>
  readonly url: string
  readonly store: Store
  readonly lines: string[]
  save(context: string): Promise<unknown>
  contexts(): Promise<string[]>
}

t.test('Failures of the database', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)

  async function open(t: Test, prepare = ''): Promise<Opened> {
    const url = await server.database()
    if (prepare !== '') await sql(url, prepare.replace('NAME', new URL(url).pathname.slice(1)))
    const lines: string[] = []
    const line = (_facts: object, message: string): void => void lines.push(message)
    const logger: Logger = { debug: line, info: line, warn: line, error: line }
    const measured: string[] = []
    const gauges = new Map<string, () => number | Promise<number>>()
    const meter: Meter = {
      ...noopMeter,
      batchWritten: (changes) => void measured.push(`${changes} written`),
      storeFenced: () => void measured.push('fenced'),
      gauge: (name, read) => void gauges.set(name, read),
    }
    const store = await openStore(url, logger, meter)
    t.teardown(async () => await store.close())
    return {
      url,
      measured,
      gauges,
      store,
      lines,
      save: async (context) => await store.statuses.save(repository, commit, reportOf(context), 0),
      contexts: async () => (await store.statuses.list(repository, commit)).map((status) => status.context),
    }
  }

  /** Makes the first insert into a table fail. */
  async function failing(url: string, table: string, then: string): Promise<void> {
    await sql(
      url,
      `CREATE SEQUENCE turns;
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('turns') = 1 THEN ${then}; END IF;
  RETURN NEW; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON commit_status.${table} FOR EACH ROW EXECUTE FUNCTION fail()`,
    )
  }

  for (const code of ['40001', '40P01', '57P01', '08006']) {
    t.test(`A statement that fails with ${code} is sent again`, async (t) => {
      const { url, store } = await open(t)
      await failing(url, 'grants', `RAISE EXCEPTION 'on purpose' USING ERRCODE = '${code}'`)
      const grant = { owner: 'alice', user: 'bob', access: 'read' } as const
      for (let repeat = 0; repeat < 3; repeat++) await store.grants.set(grant)
      t.strictSame(await store.grants.list(), [grant])
    })
  }

  t.test('A report that may have been saved is not sent again: a later one may be there', async (t) => {
    const { url, save, store, contexts, measured, gauges } = await open(t)
    await failing(url, 'statuses', "RAISE EXCEPTION 'on purpose' USING ERRCODE = '08006'")
    await t.rejects(save('a'), { name: 'StoreUnavailable', message: 'the database cannot be used: on purpose, 08006' })
    t.equal(store.unavailableReason(), 'the database cannot be used: on purpose, 08006')
    await save('b')
    t.equal(store.unavailableReason(), undefined, 'a report that was saved shows that all is well')
    t.strictSame(await contexts(), ['b'])
    t.strictSame(measured, ['fenced', '1 written'])
    await sql(url, 'DROP SCHEMA commit_status CASCADE')
    await store.close()
    t.strictSame(
      await Promise.all([gauges.get('queuedChanges')?.(), gauges.get('storeBytes')?.()]),
      [0, NaN],
      'what cannot be told is not a number',
    )
  })

  t.test(
    'A report that was surely not saved is sent again: it met another, or the server began too late',
    async (t) => {
      for (const then of ["RAISE EXCEPTION 'on purpose' USING ERRCODE = '40001'", 'RETURN NULL']) {
        const { url, save, contexts } = await open(t)
        await failing(url, 'statuses', then)
        await Promise.all(['a', 'b', 'c'].map(save))
        t.strictSame(await contexts(), ['a', 'b', 'c'])
      }
    },
  )

  t.test('A report for which it was looked whether there is room, and that then fails, is not saved', async (t) => {
    const { url, save, store, contexts } = await open(t)
    const fails = "RAISE EXCEPTION 'on purpose' USING ERRCODE = '58030'"
    await failing(url, 'statuses', `RETURN NULL; END IF; IF currval('turns') = 2 THEN ${fails}`)
    await t.rejects(save('a'), { name: 'StoreUnavailable', message: 'the database cannot be used: on purpose, 58030' })
    t.equal(store.unavailableReason(), 'the database cannot be used: on purpose, 58030')
    await save('b')
    t.strictSame([store.unavailableReason(), await contexts()], [undefined, ['b']])
  })

  t.test('After its clock was set, the server is asked anew what time it is', async (t) => {
    const { url, save, contexts } = await open(
      t,
      `CREATE TABLE setting AS SELECT interval '0' AS by;
      CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM public.setting)';
      ALTER DATABASE NAME SET search_path = public, pg_catalog`,
    )
    await save('a')
    for (const by of ['1 hour', '-1 hour']) {
      await sql(url, 'UPDATE setting SET by = $1', [by])
      await save(by)
    }
    t.strictSame(await contexts(), ['-1 hour', '1 hour', 'a'])
  })

  t.test('What cannot be put right by trying again fails at once, with its reason', async (t) => {
    const { url, store } = await open(t)
    await sql(url, 'ALTER TABLE commit_status.grants RENAME TO others')
    await t.rejects(store.grants.list(), {
      name: 'StoreUnavailable',
      message: 'the database cannot be used: relation "commit_status.grants" does not exist, 42P01',
    })
    await sql(url, 'ALTER TABLE commit_status.statuses RENAME TO other_statuses')
    await t.rejects(collect(store.statuses.scan(repository)), StoreUnavailable)
    await server.sql('postgres', `ALTER DATABASE ${new URL(url).pathname.slice(1)} ALLOW_CONNECTIONS false`)
    await t.rejects(collect(store.statuses.scan(repository)), {
      name: 'StoreUnavailable',
      message: /is not currently accepting connections, 55000$/,
    })
  })

  t.test('A text that the database does not take is refused, and those reported with it are saved', async (t) => {
    const { store, save, contexts } = await open(t)
    const bad = store.statuses.save(repository, commit, reportOf('bad', { description: 'a\0b' }), 0)
    const good = ['a', 'b'].map(save)
    await t.rejects(bad, { name: 'DatabaseFailure', message: /invalid byte sequence/ })
    await Promise.all(good)
    t.strictSame(await contexts(), ['a', 'b'])
    t.equal(store.unavailableReason(), undefined)
  })

  t.test('A move that fails half-way has moved nothing', async (t) => {
    const { url, store, save, contexts } = await open(t)
    const moved = repositoryNamed('alice/moved')
    await save('a')
    const grant = { owner: 'alice', repository, user: 'bob', access: 'read' } as const
    await store.grants.set(grant)
    await failing(url, 'grants', "RAISE EXCEPTION 'on purpose' USING ERRCODE = '58030'")
    await t.rejects(store.renameRepository(repository, moved), {
      name: 'StoreUnavailable',
      message: 'the database cannot be used: on purpose, 58030',
    })
    t.strictSame(await contexts(), ['a'])
    t.strictSame(await store.grants.list(), [grant])
    await store.renameRepository(repository, moved)
    t.strictSame(await contexts(), [])
    t.strictSame(await store.grants.list(), [{ ...grant, repository: moved }])
  })

  t.test('Connections that are cut, in use and at rest, are replaced', async (t) => {
    const { url, save, contexts, lines } = await open(t)
    for (let round = 0; round < 5; round++) {
      await save(`check ${round}`)
      await sql(
        url,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ' +
          'pg_backend_pid()',
      )
    }
    t.equal((await contexts()).length, 5)
    t.ok(lines.includes('an idle connection to the database broke'))
  })

  t.test('A server without a free connection is asked again until there is one', async (t) => {
    const url = await server.database()
    await server.sql('postgres', 'CREATE ROLE service LOGIN')
    await sql(
      url,
      'GRANT USAGE ON SCHEMA commit_status TO service; GRANT SELECT ON ALL TABLES IN SCHEMA commit_status TO service',
    )
    await sql(url, 'ALTER ROLE service CONNECTION LIMIT 0')
    const opening = openStore(url.replace('postgres@', 'service@'))
    await sql(url, 'ALTER ROLE service CONNECTION LIMIT 1')
    const store = await opening
    t.strictSame(await Promise.all(Array.from({ length: 5 }, () => store.tokens.list())), [[], [], [], [], []])
    await store.close()
  })

  t.test(
    'A server that has come to read only is none: lists neither, since they may be old; until it writes again',
    async (t) => {
      const { store, save, contexts, lines } = await open(t)
      await save('a')
      await server.sql('postgres', 'ALTER SYSTEM SET default_transaction_read_only = on')
      await server.sql('postgres', 'SELECT pg_reload_conf()')
      // The process of a connection takes the setting up when it gets round to it.
      const refused = until(async () => (await contexts()).length === 0)
      await t.rejects(refused, { message: 'the database cannot be used: the server is read-only' })
      await t.rejects(save('b'), { message: /read-only/ })
      t.match(store.unavailableReason(), /read-only/)
      await t.rejects(save('b'), { name: 'StoreFenced' }, 'which is said once in the log')
      await t.rejects(openStore(await server.template()), { message: /read-only/ })
      const writing = 'SET default_transaction_read_only = off;'
      await server.sql('postgres', `${writing} ALTER SYSTEM RESET default_transaction_read_only`).catch(async () => {
        server.configure({ default_transaction_read_only: 'off' })
      })
      await server.sql('postgres', 'SELECT pg_reload_conf()')
      await until(() => store.unavailableReason() === undefined)
      await save('b')
      t.strictSame(await contexts(), ['a', 'b'])
      t.strictSame(
        lines.filter((line) => line.startsWith('the database')),
        ['the database takes no writes: reports are refused', 'the database takes writes again'],
      )
    },
  )

  t.test('A server that stands still costs seconds, and what it does too late is nothing', async (t) => {
    const { url, store, save, contexts } = await open(t)
    await save('before')
    const backends = (
      await sql(url, 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()')
    ).map(({ pid }) => pid)
    server.freeze('SIGSTOP')
    const begun = performance.now()
    await t.rejects(save('late'), {
      name: 'StoreUnavailable',
      message: 'the database cannot be used: Query read timeout',
    })
    t.ok(performance.now() - begun < 15_000)
    t.equal(store.unavailableReason(), 'the database cannot be used: Query read timeout')
    await t.rejects(contexts(), StoreFenced)
    server.freeze('SIGCONT')
    await until(
      async () => (await sql(url, 'SELECT 1 FROM pg_stat_activity WHERE pid = ANY ($1)', [backends])).length === 0,
    )
    await until(() => store.unavailableReason() === undefined)
    t.strictSame(await contexts(), ['before'])
  })

  t.test('Closing waits for what is being read', async (t) => {
    const { store, save, contexts } = await open(t)
    await save('a')
    const read = Promise.all([contexts(), store.tokens.get('0a'), store.grants.of('bob', repository)])
    const closing = store.close()
    await new Promise((resolve) => setImmediate(resolve))
    await t.rejects(contexts(), { name: 'StoreUnavailable', message: 'the store is closed' })
    await closing
    t.strictSame(await read, [['a'], undefined, []])
  })

  t.test('Closing does not wait for a server that says nothing', async (t) => {
    const { store } = await open(t)
    const scan = store.statuses.scan(repository)[Symbol.asyncIterator]()
    await store.statuses.save(repository, commit, reportOf('a'), 0)
    await scan.next()
    server.freeze('SIGSTOP')
    const begun = performance.now()
    await store.close()
    t.ok(performance.now() - begun < 15_000)
    server.freeze('SIGCONT')
    await t.rejects(
      scan.next().then(async () => await collect(store.statuses.scan(repository))),
      StoreUnavailable,
    )
  })

  t.test('Where nobody answers, or something else does, a store does not open', async (t) => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    t.teardown(() => silent.close())
    const addresses = {
      [`postgres://u:secret@127.0.0.1:${port}/d`]: /timeout/,
      'postgres://u:secret@127.0.0.1:1/d': /ECONNREFUSED/,
      'postgres://u:secret@:x/d': /Invalid URL/,
    }
    await Promise.all(
      Object.entries(addresses).map(async ([address, message]) => {
        const error: unknown = await openStore(address).catch((error: unknown) => error)
        t.match(error, { name: 'StoreUnavailable', message })
        t.notMatch(String(error), 'secret')
      }),
    )
  })

  t.test('While nothing is reported, it is looked whether the database takes writes', async (t) => {
    const { store, url } = await open(t)
    const rows = async (): Promise<unknown> =>
      (await sql(url, 'SELECT count(*)::int AS count FROM commit_status.probes'))[0]?.['count']
    await until(async () => (await rows()) !== 0)
    await sql(url, 'ALTER TABLE commit_status.probes RENAME TO gone')
    await until(() => store.unavailableReason() !== undefined)
    t.match(store.unavailableReason(), /relation "commit_status.probes" does not exist/)
    await sql(url, 'ALTER TABLE commit_status.gone RENAME TO probes')
    await until(() => store.unavailableReason() === undefined)
  })
})
