import pg from 'pg'
import t, { type Test } from 'tap'
import { Sessions } from '../../lib/auth/sessions.js'
import { systemClock } from '../../lib/contracts/clock.js'
import type { SignInStore } from '../../lib/contracts/sign-in-store.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { until } from '../fixtures/within.js'
import { signInSuite } from '../suites/sign-ins.js'

t.test('Links and sessions in a database', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)

  const opened = async (t: Test, url: string): Promise<SignInStore> => {
    const store = await openStore(url)
    t.teardown(async () => await store.close())
    if (!store.signIns) throw new Error('the store keeps no sessions')
    return store.signIns
  }

  signInSuite(t, async (t) => {
    const url = await server.database()
    return [await opened(t, url), await opened(t, url)]
  })

  t.test('Nothing in the database opens anything, and what is over does not stay there', async (t) => {
    const url = await server.database()
    const clock = { time: 1_000_000, now: () => clock.time }
    const sessions = new Sessions(await opened(t, url), clock)
    const { code } = await sessions.createLink('alice')
    const { session = '' } = (await sessions.open((await sessions.createLink('alice')).code)) ?? {}
    const rows = async () => await sql(url, 'SELECT s::text AS row, kind FROM commit_status.sign_ins s')
    t.strictSame((await rows()).map(({ kind }) => kind).sort(), ['link', 'session'])
    const text = JSON.stringify(await rows())
    for (const secret of [code, session]) {
      t.equal(secret.length, 32)
      for (const form of [
        secret,
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret, 'base64url').toString('hex'),
      ])
        t.notOk(text.includes(form))
    }
    clock.time += 24 * 60 * 60 * 1000
    await sessions.createLink('bob')
    t.equal((await rows()).length, 1)
  })

  t.test(
    'Who ends all of a user while a link is being opened elsewhere ends the session that comes of it',
    async (t) => {
      const url = await server.database()
      const sessions = new Sessions(await opened(t, url), systemClock)
      await sessions.createLink('alice')
      // Another instance, in the middle of the exchange.
      const other = new pg.Client(url)
      await other.connect()
      await other.query(
        "BEGIN; UPDATE commit_status.sign_ins SET kind = 'session', digest = 'new', ends_at = ends_at + 1",
      )
      const ended = sessions.endAll('alice')
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      await until(async () => (await sql(url, waiting)).length > 0)
      await other.query('COMMIT')
      await other.end()
      t.equal(await ended, 1)
      t.strictSame(await sql(url, 'SELECT * FROM commit_status.sign_ins'), [])
    },
  )

  t.test('Of a session that cannot be looked up nobody says that it is over', async (t) => {
    const store = await opened(t, await server.database())
    const sessions = new Sessions(store, systemClock)
    const { session = '' } = (await sessions.open((await sessions.createLink('alice')).code)) ?? {}
    await server.kill('SIGQUIT')
    await t.rejects(sessions.find(session), { message: /^the database cannot be used/ })
    await server.run()
    t.equal((await sessions.find(session))?.user, 'alice', 'and it is there again')
  })
})
