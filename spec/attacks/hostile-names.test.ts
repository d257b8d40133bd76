// Path traversal: a name in the address that becomes part of a path on disk leads out of the repositories folder, or to
// a repository by a name that is not its own. Past victims: gitweb, GitLab, Gitea, soft-serve and most static file
// servers.
// Outside of the folder stands a repository that anybody may read and write once it is reached.
import { cpSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { sendRaw } from '../fixtures/raw-http.js'
import { startService, type TestService } from '../fixtures/service.js'
import { storeFiles } from '../fixtures/store-files.js'
import { itemsOf } from '../fixtures/work.js'

const long = (length: number): string => 'a'.repeat(length)

/** Answered like a repository that does not exist. */
const NO_SUCH_NAME: readonly string[] = [
  '../secret', '%2e%2e/secret', '%2E%2e/secret', '.%2e/secret', './secret', '%2e/secret', '.../secret',
  'alice/..%2fsecret', 'alice/..%2f..%2fsecret', 'alice/%2e%2e%2f%2e%2e%2fsecret',
  'alice/hello.git%2f..%2f..%2f..%2fsecret',
  'alice%2f..%2f../secret', 'linked/..%2fsecret', 'linked/%2e%2e%2Fsecret', 'linked%2f../secret', 'alice/..',
  'alice/%2e%2e',
  'alice/..%5c..%5csecret', '..%5csecret/hello', 'alice/..\\..\\secret', '..\\secret/hello', 'alice\\hello/hello',
  'alice/hello%00', 'alice/hello%00.git', 'alice%00/hello', '%00/%00', 'alice/..%2f..%2fsecret.git%00', 'alice/%00',
  `alice/${long(300)}`, `${long(300)}/hello`, `alice/${long(101)}`, `${long(101)}/hello`, `alice/${'%2e'.repeat(300)}`,
  `alice/${'..%2f'.repeat(300)}secret`,
  'alice/hello.', 'alice/hello..', 'alice./hello', 'alice/hello%20', 'alice/hello%2e',
  'alice/hello.git', 'alice/locked.lock', 'alice/.git', 'alice/.hidden', 'alice/-dash', '.hidden/hello', '-dash/hello',
  'alice/hello.git.git',
  'alice/hello.git%2f..%2fhello', 'alice/%2fhello', 'alice/hello%2f', '%2falice/hello', 'alice/.%2fhello',
  '%EF%BC%8E%EF%BC%8E/secret', '%E2%80%A4%E2%80%A4/secret',
  'alice/%EF%BC%8E%EF%BC%8E%EF%BC%8F%EF%BC%8E%EF%BC%8E%EF%BC%8Fsecret', 'alice/..%E2%88%95..%E2%88%95secret',
  '%D0%B0lice/hello', '%EF%BD%81lice/hello', 'alice/hell%D0%BE', 'alice/hello%CC%81', 'alice/hello%E2%80%8B',
  'alice/%E2%80%AEhello', 'ALICE/hello', 'alice/Hello',
  'alice/hello%0a', 'alice/hello%0d%0aX-Evil:%20yes', '%20alice/hello', 'alice/hello%7f', 'alice/hello%09', 'alice/*',
  'alice/hello*', 'alice/~', '~/hello', 'alice/$HOME',
  '%252e%252e/secret', 'alice/..%252f..%252fsecret', 'alice/hello%2500', 'C%3a/secret', 'alice/hello%3a%3a$DATA',
] // prettier-ignore

/** An address that is none of ours, whoever asks. */
const NO_SUCH_ADDRESS: readonly string[] = [
  'alice/hello.git/../hello', 'alice/../../secret', 'alice/../alice/hello', './alice/hello', 'alice/./hello',
  'alice//hello', '/alice/hello', 'alice/hello/',
  '/', 'alice/', '/hello', '../../../../secret', 'linked/../secret', 'alice/hello#', 'alice/hello?', 'alice;/x/hello',
  '../../v1/repos/alice/hello',
] // prettier-ignore

/** Percent-encoding of bytes that are no UTF-8, or no percent-encoding at all. */
const MALFORMED: readonly string[] = [
  '%c0%ae%c0%ae/secret', 'alice/..%c0%af..%c0%afsecret', 'alice/%e0%80%ae', '%ff/hello', 'alice/hello%',
  'alice/hello%2', '%zz/hello', 'alice/%u002e%u002e', 'alice/%ed%a0%80', 'alice/%fe%ff',
] // prettier-ignore

interface Scene {
  readonly service: TestService
  readonly outside: string
  readonly sha: string
  readonly secret: string
  readonly tokens: readonly string[]
}

/** Repositories inside and outside of the folder, all public, and tokens of all who own anything. */
async function scene(t: Test): Promise<Scene> {
  const service = await startService(t)
  const outside = join(service.folder, 'elsewhere')
  const sha = await makeCommit(await makeRepository(service.repositories, 'alice/hello', { public: true }), 'inside')
  const original = await makeRepository(service.folder, 'secret', { public: true })
  const secret = await makeCommit(original, 'a secret')
  const copies = ['elsewhere/secret', 'elsewhere/linked/inside']
  for (const name of [
    '.hidden/hello',
    '-dash/hello',
    'alice/hello.git',
    'alice/locked.lock',
    'alice/.hidden',
    'alice/-dash',
    'alice/',
  ])
    copies.push(`repositories/${name}`)
  for (const copy of copies) cpSync(original, join(service.folder, `${copy}.git`), { recursive: true })
  symlinkSync(join(outside, 'linked'), join(service.repositories, 'linked'))
  const tokens = await Promise.all(['alice', 'linked', 'secret'].map(async (user) => await service.tokenOf(user)))
  return { service, outside, sha, secret, tokens }
}

/** Path, size and time of change of everything below a folder. */
function contents(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => {
    const { size, mtimeMs } = statSync(join(folder, path))
    return `${path} ${size} ${mtimeMs}`
  })
}

async function attack(
  t: Test,
  names: readonly string[],
  expected: { anonymous: [number, string]; signedIn: [number, string] },
): Promise<void> {
  const { service, outside, sha, secret, tokens } = await scene(t)
  const before = [contents(outside), contents(join(service.folder, 'secret.git'))]
  for (const name of names) {
    for (const commit of [sha, secret]) {
      for (const token of [undefined, ...tokens]) {
        const authorization = token === undefined ? [] : [`Authorization: Bearer ${token}`]
        const [status, error] = token === undefined ? expected.anonymous : expected.signedIn
        const listed = await sendRaw(service.url, [
          `GET /api/v1/repos/${name}/commits/${commit}/statuses HTTP/1.1`,
          ...authorization,
        ])
        const reported = await sendRaw(
          service.url,
          [`POST /api/v1/repos/${name}/statuses/${commit} HTTP/1.1`, ...authorization],
          '{"state":"success","context":"attack"}',
        )
        for (const answer of [listed, reported]) {
          if (answer.status !== status || answer.body !== `${JSON.stringify({ error })}\n`)
            t.fail(`${name} was answered ${answer.statusLine} ${answer.body}`)
        }
      }
    }
    t.pass(name)
  }

  t.strictSame([contents(outside), contents(join(service.folder, 'secret.git'))], before, 'nothing outside has changed')
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
    'nothing was met that could not be read',
  )
  const report = await service.report('alice/hello', sha, tokens[0], { state: 'success', context: 'honest' })
  t.equal(report.status, 201, 'the service still answers')
  const stored = storeFiles(service.store)
  t.ok(stored.includes(sha) && stored.includes('honest'))
  t.notOk(stored.includes('attack') || stored.includes(secret), 'nothing was stored')
}

t.test('A name that breaks the name rules is a repository that does not exist, for its owner too', async (t) => {
  await attack(t, NO_SUCH_NAME, {
    anonymous: [401, 'authentication required'],
    signedIn: [404, 'repository not found'],
  })
})

t.test('A slash, or a dot between slashes, is not made part of a name, and no path is put straight', async (t) => {
  await attack(t, NO_SUCH_ADDRESS, { anonymous: [404, 'not found'], signedIn: [404, 'not found'] })
})

t.test('Malformed percent-encoding gives 400', async (t) => {
  await attack(t, MALFORMED, {
    anonymous: [400, 'malformed percent-encoding in the path'],
    signedIn: [400, 'malformed percent-encoding in the path'],
  })
})

t.test('A raw control character in the address gives 400 and ends the connection', async (t) => {
  const { service, sha } = await scene(t)
  for (const name of ['alice/hello\0', 'alice/hel\rlo', 'alice/\x01', 'alice/hello\x7f']) {
    const answer = await sendRaw(service.url, [`GET /api/v1/repos/${name}/commits/${sha}/statuses HTTP/1.1`])
    t.match(answer, { status: 400, body: JSON.stringify({ error: 'malformed HTTP request' }) }, JSON.stringify(name))
  }
  t.equal((await service.list('alice/hello', sha)).status, 200, 'the service still answers')
})

t.test('No token and no grant can be made for a name that breaks the name rules', async (t) => {
  const { service } = await scene(t)
  const before = [await service.admin.listTokens(null), await service.admin.listAccess(null)]
  for (const name of [
    '',
    '.',
    '..',
    '../secret',
    'alice/../..',
    '.hidden',
    '-dash',
    'a b',
    'al\0ice',
    'аlice',
    long(101),
    '%2e%2e',
    'alice\\..',
  ]) {
    await t.rejects(service.admin.createToken({ user: name, name: '', scopes: ['repo'], expiresAt: null }), {
      name: 'ArgumentError',
    })
    await t.rejects(service.admin.grantAccess(name, 'alice', 'write'), { name: /^(?:Administration|Argument)Error$/ })
    await t.rejects(service.admin.grantAccess(`alice/${name}`, 'alice', 'write'), {
      name: /^(?:Administration|Argument)Error$/,
    })
    await t.rejects(service.admin.setVisibility(`alice/${name}`, 'public'), {
      name: /^(?:Administration|Argument)Error$/,
    })
    await t.rejects(itemsOf(service.admin.listStatuses(`${name}/secret`, null)), {
      name: /^(?:Administration|Argument)Error$/,
    })
  }
  t.strictSame([await service.admin.listTokens(null), await service.admin.listAccess(null)], before)
})

t.test(
  'A symbolic link to an owner folder, which only the admin can make, leads to what is in it and no further',
  async (t) => {
    const { service, secret, tokens } = await scene(t)
    t.equal((await service.list('linked/inside', secret, tokens[0])).status, 200)
    t.equal((await service.list('alice/inside', secret, tokens[0])).status, 404)
    t.equal((await service.list('linked/..%2fsecret', secret, tokens[1])).status, 404)
  },
)

t.test('The longest legal names work', async (t) => {
  const service = await startService(t)
  const name = `${long(100)}/${long(100)}`
  const { sha } = await makeRepositoryWithCommit(service.repositories, name, { public: true })
  t.equal((await service.report(name, sha, await service.tokenOf(long(100)), { state: 'success' })).status, 201)
  t.equal((await service.list(name, sha)).body['state'], 'success')
})
