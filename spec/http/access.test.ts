import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { git, makeRepository } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'

const READ_ONLY = 'write access to the repository is required'
const MISSING = 'repository not found'
const success = { state: 'success' }

/** What a user may do, told by the statuses of a read and of a write. */
async function rights({ service, sha }: HostedCommit, repository: string, token: string | undefined): Promise<string> {
  const [read, write] = [
    await service.list(repository, sha, token),
    await service.report(repository, sha, token, success),
  ]
  return `${read.status} ${write.status}`
}

t.test("The user named like the owner has write on all of the owner's repositories, and on no others", async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { service, token } = hosted
  for (const name of ['alice/other', 'bob/hello', 'alice2/hello', 'Alice/hello']) await copyOf(hosted, name)
  t.equal(await rights(hosted, 'alice/hello', token), '200 201')
  t.equal(await rights(hosted, 'alice/other', token), '200 201')
  for (const name of ['bob/hello', 'alice2/hello', 'Alice/hello'])
    t.equal(await rights(hosted, name, token), '404 404', name)
  t.equal(await rights(hosted, 'alice/hello', await service.tokenOf('Alice')), '404 404', 'letter case counts')
})

t.test('A user with read-only access who tries to write gets 403; a token with write access may', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { service, sha, stored } = hosted
  const [reader, writer] = [await service.tokenOf('reader'), await service.tokenOf('writer')]
  await service.admin.grantAccess('alice/hello', 'reader', 'read')
  await service.admin.grantAccess('alice/hello', 'writer', 'write')
  refused(t, await service.report('alice/hello', sha, reader, success), 403, READ_ONLY)
  t.strictSame(await stored(), [], 'nothing was saved')
  t.equal((await service.list('alice/hello', sha, reader)).status, 200)
  t.equal(await rights(hosted, 'alice/hello', writer), '200 201')
})

t.test(
  "A grant on an owner is one on all of the owner's repositories; a grant on a repository is for that one",
  async (t) => {
    const hosted = await hostCommit(t, { private: true })
    const { service } = hosted
    for (const name of ['alice/hello2', 'alice/hell', 'alice2/hello', 'bob/hello']) await copyOf(hosted, name)
    const [wide, narrow] = [await service.tokenOf('wide'), await service.tokenOf('narrow')]
    await service.admin.grantAccess('alice', 'wide', 'write')
    await service.admin.grantAccess('alice/hello', 'narrow', 'write')
    for (const name of ['alice/hello', 'alice/hello2', 'alice/hell'])
      t.equal(await rights(hosted, name, wide), '200 201', name)
    for (const name of ['alice2/hello', 'bob/hello']) t.equal(await rights(hosted, name, wide), '404 404', name)
    t.equal(await rights(hosted, 'alice/hello', narrow), '200 201')
    for (const name of ['alice/hello2', 'alice/hell', 'alice2/hello'])
      t.equal(await rights(hosted, name, narrow), '404 404', name)
    t.equal(await rights(hosted, 'alice/hello', await service.tokenOf('wid')), '404 404', 'and for that user')
  },
)

t.test('Of two grants the higher one counts', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const token = await hosted.service.tokenOf('bob')
  await hosted.service.admin.grantAccess('alice', 'bob', 'write')
  await hosted.service.admin.grantAccess('alice/hello', 'bob', 'read')
  t.equal(await rights(hosted, 'alice/hello', token), '200 201')
  await hosted.service.admin.grantAccess('alice', 'bob', 'read')
  await hosted.service.admin.grantAccess('alice/hello', 'bob', 'write')
  t.equal(await rights(hosted, 'alice/hello', token), '200 201')
  await hosted.service.admin.grantAccess('alice/hello', 'bob', 'read')
  t.equal(await rights(hosted, 'alice/hello', token), '200 403')
})

t.test('A grant counts at once, and a revoked one no longer', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { admin } = hosted.service
  const token = await hosted.service.tokenOf('bob')
  for (const on of ['alice/hello', 'alice']) {
    t.equal(await rights(hosted, 'alice/hello', token), '404 404')
    await admin.grantAccess(on, 'bob', 'write')
    t.equal(await rights(hosted, 'alice/hello', token), '200 201')
    await admin.grantAccess(on, 'bob', 'read')
    t.equal(await rights(hosted, 'alice/hello', token), '200 403', 'a later grant replaces the earlier one')
    await admin.revokeAccess(on, 'bob')
  }
  t.equal(await rights(hosted, 'alice/hello', token), '404 404')
})

t.test(
  'A public repository gives everybody read: a signed-in user without access who writes to it gets 403',
  async (t) => {
    const hosted = await hostCommit(t)
    const token = await hosted.service.tokenOf('stranger')
    t.equal((await hosted.service.list('alice/hello', hosted.sha, token)).status, 200)
    refused(t, await hosted.service.report('alice/hello', hosted.sha, token, success), 403, READ_ONLY)
    t.strictSame(await hosted.stored(), [])
  },
)

t.test('Public is exactly a repository with git-daemon-export-ok; taking it away counts at once', async (t) => {
  const hosted = await hostCommit(t)
  t.equal((await hosted.service.list('alice/hello', hosted.sha)).status, 200)
  rmSync(join(hosted.directory, 'git-daemon-export-ok'))
  refused(t, await hosted.service.list('alice/hello', hosted.sha), 401, 'authentication required')
  t.equal(await rights(hosted, 'alice/hello', await hosted.service.tokenOf('stranger')), '404 404')
  await hosted.service.admin.setVisibility('alice/hello', 'public')
  t.equal((await hosted.service.list('alice/hello', hosted.sha)).status, 200)
})

t.test('A signed-in user with no access to a private repository gets 404, as for a missing one', async (t) => {
  const { service, sha } = await hostCommit(t, { private: true })
  const token = await service.tokenOf('stranger')
  for (const name of ['alice/hello', 'alice/missing', 'nobody/hello']) {
    refused(t, await service.list(name, sha, token), 404, MISSING, `reading ${name}`)
    refused(t, await service.report(name, sha, token, success), 404, MISSING, `writing to ${name}`)
  }
})

t.test('An owner whose repository does not exist gets 404, whatever grants there are', async (t) => {
  const { service, sha, token } = await hostCommit(t)
  await service.admin.grantAccess('alice/missing', 'bob', 'write')
  for (const sent of [token, await service.tokenOf('bob')]) {
    refused(t, await service.list('alice/missing', sha, sent), 404, MISSING)
    refused(t, await service.report('alice/missing', sha, sent, success), 404, MISSING)
  }
})

t.test(
  'For a caller who may not read it, a private repository and a missing one are the same: status, body and headers',
  async (t) => {
    const hosted = await hostCommit(t, { private: true })
    const { service, sha } = hosted
    const stranger = await service.tokenOf('stranger')
    const requests = [sha, 'short', 'f'.repeat(40)].flatMap((id) => [
      { method: 'GET', path: `commits/${id}/statuses` },
      { method: 'HEAD', path: `commits/${id}/statuses` },
      { method: 'POST', path: `statuses/${id}`, body: success },
      { method: 'POST', path: `statuses/${id}`, body: 'x'.repeat(20_000) },
      { method: 'PUT', path: `statuses/${id}` },
    ])
    for (const { method, path, body } of requests) {
      for (const token of [undefined, stranger]) {
        const seen = []
        for (const name of ['alice/hello', 'alice/hallo', 'nobody/hello']) {
          const { status, text, headers } = await service.call(method, `/api/v1/repos/${name}/${path}`, { token, body })
          seen.push({
            status,
            text,
            headers: [...headers].filter(([header]) => header !== 'date' && header !== 'x-request-id'),
          })
        }
        t.strictSame(seen[0], seen[1], `${method} ${path}, ${token ? 'signed in' : 'anonymous'}`)
        t.strictSame(seen[0], seen[2])
      }
    }
  },
)

t.test('A name that breaks the name rules is simply a repository that does not exist', async (t) => {
  const { service, sha, token } = await hostCommit(t)
  for (const name of [
    'alice/hello.git',
    'alice/hello.lock',
    'alice/.hello',
    'alice/-hello',
    '-alice/hello',
    `alice/${'x'.repeat(101)}`,
    'alice/he%20llo',
    'alice/h%C3%A9llo',
  ]) {
    refused(t, await service.list(name, sha, token), 404, MISSING, name)
    refused(t, await service.list(name, sha), 401, 'authentication required', name)
    refused(t, await service.report(name, sha, token, success), 404, MISSING, name)
  }
})

/** Another private repository with the same commit. */
async function copyOf({ service, directory, sha }: HostedCommit, name: string): Promise<void> {
  const copy = await makeRepository(service.repositories, name)
  await git('-C', copy, 'fetch', '--quiet', directory, `${sha}:refs/heads/main`)
}
