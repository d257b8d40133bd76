// A report whose body comes seconds after its head: rights were looked at when the head arrived, so whoever kept such a
// request open kept a right that was revoked meanwhile, and saved a status into a repository that was another one by
// then. Before anything is saved, token, right, repository and commit are looked at again.
import { renameSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeCommit, makeRepository } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const success = '{"state":"success"}'

/** Sends the head of a report, does something once it has been looked at, and then sends the body. */
async function reportAround(
  t: Test,
  { service, reportPath }: HostedCommit,
  token: string,
  meanwhile: () => Promise<unknown>,
) {
  const socket = await RawSocket.open(t, service.url)
  await socket.send(
    requestHead('POST', reportPath, {
      Authorization: `Bearer ${token}`,
      'Content-Length': String(success.length),
      Expect: '100-continue',
    }),
  )
  // The body is invited once every check before it has passed.
  t.equal((await socket.answer()).status, 100)
  await meanwhile()
  // Longer than what counts as a body that comes at once.
  await setTimeout(50)
  await socket.send(success)
  return await socket.answer()
}

t.test('A token that is revoked before the body has arrived saves nothing', async (t) => {
  const hosted = await hostCommit(t)
  const { admin } = hosted.service
  const { token, id } = await admin.createToken({ user: 'alice', name: '', scopes: ['repo'], expiresAt: null })
  refused(
    t,
    await reportAround(t, hosted, token, async () => await admin.revokeToken(id)),
    401,
    'invalid or expired token',
  )
  t.strictSame(await hosted.stored(), [])
})

t.test('A grant that is revoked, or becomes one to read, before the body has arrived saves nothing', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { admin, tokenOf } = hosted.service
  const bob = await tokenOf('bob')
  const granted = async (): Promise<void> => await admin.grantAccess('alice/hello', 'bob', 'write')
  await granted()
  const revoked = await reportAround(t, hosted, bob, async () => await admin.revokeAccess('alice/hello', 'bob'))
  refused(t, revoked, 404, 'repository not found')
  await granted()
  const lowered = await reportAround(t, hosted, bob, async () => await admin.grantAccess('alice/hello', 'bob', 'read'))
  refused(t, lowered, 403, 'write access to the repository is required')
  t.strictSame(await hosted.stored(), [])
})

t.test('A repository that is replaced before the body has arrived by one without the commit: 404', async (t) => {
  const hosted = await hostCommit(t)
  const answer = await reportAround(t, hosted, hosted.token, async () => {
    renameSync(hosted.directory, `${hosted.directory}.old`)
    const directory = await makeRepository(hosted.service.repositories, 'alice/hello')
    await makeCommit(directory, 'another history')
  })
  refused(t, answer, 404, 'commit not found')
  t.strictSame(await hosted.stored(), [])
})

t.test('A repository that is gone when the body has arrived: 404', async (t) => {
  const hosted = await hostCommit(t)
  const answer = await reportAround(t, hosted, hosted.token, async () => {
    renameSync(hosted.directory, `${hosted.directory}.old`)
    await Promise.resolve()
  })
  refused(t, answer, 404, 'repository not found')
  t.strictSame(await hosted.stored(), [])
})

t.test('Nothing has changed: a late body is saved', async (t) => {
  const hosted = await hostCommit(t)
  t.equal((await reportAround(t, hosted, hosted.token, async () => await Promise.resolve())).status, 201)
  t.equal((await hosted.stored()).length, 1)
})
