// A link to sign in that somebody else has seen too: over a shoulder, in the scrollback of a shared screen. Both open
// it at the same moment, each at another of two instances on one database. Only one of them may be signed in, and the
// other is told that the link is no longer good; and when the admin then ends what alice has, at a third place,
// whoever it was is out at both with the next request.
import t from 'tap'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

t.test('A link signs in once, though two instances get it at the same moment', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const store = await server.database()
  // Whoever comes too late has failed to log in.
  const settings = { store, authFailures: { limit: 1000, windowSeconds: 600 } }
  const instances = [await startService(t, { settings }), await startService(t, { settings })] as const
  const [{ admin }] = instances

  for (let round = 0; round < 20; round++) {
    const code = new URL((await admin.createSignIn('alice')).url).searchParams.get('code') ?? ''
    const opened = await Promise.all(
      [...instances, ...instances].map(async (service) => await visit(service, '/sign-in', { form: { code } })),
    )
    t.strictSame(opened.map(({ status }) => status).sort(), [303, 410, 410, 410])
    t.equal(opened.filter(({ headers }) => headers.has('set-cookie')).length, 1)
    const cookie = opened.map(({ headers }) => headers.get('set-cookie')?.split(';')[0]).find(Boolean) ?? ''
    const pages = async () =>
      await Promise.all(instances.map(async (service) => (await visit(service, '/settings/tokens', { cookie })).status))
    t.strictSame(await pages(), [200, 200])
    if (round % 2 === 0) t.equal(await admin.endSignIns('alice'), 1)
    else await visit(instances[round % 4 === 1 ? 0 : 1], '/sign-out', { form: {}, cookie })
    t.strictSame(await pages(), [401, 401])
  }
  t.strictSame(await sql(store, 'SELECT * FROM commit_status.sign_ins'), [])
})
