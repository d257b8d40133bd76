// Existence leaks: a private repository that answers in any way differently from one that does not exist gives away its
// name, often a customer's or an unannounced product's. Past leaks: 403 instead of 404, another message, a missing
// header, an error page of a broken repository, checks of the commit or the body before those of the right.
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { comparable, sendRaw, type RawAnswer } from '../fixtures/raw-http.js'
import { startService, type TestService } from '../fixtures/service.js'
import { itemsOf } from '../fixtures/work.js'

/** Private repositories in every condition. Each is made from a sound one that holds the commit. */
const CONDITIONS: Readonly<Record<string, (directory: string) => void>> = {
  sound: () => undefined,
  'without-objects': (directory) => rmSync(join(directory, 'objects'), { recursive: true }),
  'with-a-broken-config': (directory) =>
    writeFileSync(join(directory, 'config'), '[core\nrepositoryformatversion = 99\n'),
  'with-an-unreadable-mark': (directory) =>
    symlinkSync('git-daemon-export-ok', join(directory, 'git-daemon-export-ok')),
  empty: (directory) => {
    rmSync(directory, { recursive: true })
    mkdirSync(directory)
  },
  'a-loop': (directory) => {
    rmSync(directory, { recursive: true })
    symlinkSync(directory, directory)
  },
}

/** Names of repositories that do not exist, or cannot. */
const MISSING = [
  'alice/missing',
  'alice/bad%20name',
  'alice/.hidden',
  `alice/${'a'.repeat(300)}`,
  'alice/sound.git',
  'alice/a-file',
  'alice/dangling',
  'nobody/missing',
  '..%2f/sound',
  'al%00ice/sound',
]

const BODIES = {
  right: '{"state":"success","context":"attack"}',
  wrong: '{"state":"nonsense"}',
  broken: '{',
  none: '',
  large: JSON.stringify({ state: 'success', more: 'x'.repeat(20_000) }),
}

interface Scene {
  readonly service: TestService
  readonly sha: string
  readonly alice: string
  /** Has rights, but on other things. */
  readonly mallory: string
}

async function scene(t: Test): Promise<Scene> {
  const service = await startService(t)
  const folder = join(service.repositories, 'alice')
  const { directory: original, sha } = await makeRepositoryWithCommit(service.folder, 'original')
  for (const [condition, spoil] of Object.entries(CONDITIONS)) {
    cpSync(original, join(folder, `${condition}.git`), { recursive: true })
    spoil(join(folder, `${condition}.git`))
  }
  writeFileSync(join(folder, 'a-file.git'), '')
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling.git'))
  await makeRepository(service.repositories, 'bob/open', { public: true })
  await service.admin.grantAccess('bob/open', 'mallory', 'write')
  await service.admin.grantAccess('alice/a', 'mallory', 'write')
  await service.admin.grantAccess('alic', 'mallory', 'write')
  return { service, sha, alice: await service.tokenOf('alice'), mallory: await service.tokenOf('mallory') }
}

/** Everything that can be asked of one repository, by its name: with ids that are right, unknown, malformed. */
async function askAll({ service, sha }: Scene, name: string, token?: string): Promise<Map<string, RawAnswer>> {
  const answers = new Map<string, RawAnswer>()
  const headers = token === undefined ? [] : [`Authorization: Bearer ${token}`]
  for (const id of [sha, '0'.repeat(64), 'main']) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const head = [`${method} /api/v1/repos/${name}/commits/${id}/statuses HTTP/1.1`, ...headers]
      answers.set(`${method} the list of ${id}`, await sendRaw(service.url, head))
    }
    const reports = `/api/v1/repos/${name}/statuses/${id} HTTP/1.1`
    for (const [kind, body] of Object.entries(BODIES))
      answers.set(`POST a ${kind} body to ${id}`, await sendRaw(service.url, [`POST ${reports}`, ...headers], body))
    answers.set(`HEAD the reports of ${id}`, await sendRaw(service.url, [`HEAD ${reports}`, ...headers]))
  }
  return answers
}

const callers = [
  { who: 'an anonymous caller', listed: '401 Unauthorized', error: 'authentication required', token: () => undefined },
  {
    who: 'a signed-in user with no access',
    listed: '404 Not Found',
    error: 'repository not found',
    token: ({ mallory }: Scene) => mallory,
  },
]

for (const { who, listed, error, token } of callers) {
  t.test(
    `To ${who}, private and missing repositories answer alike to the byte, whatever their condition`,
    async (t) => {
      const hidden = await scene(t)
      const [reference = '', ...others] = [
        ...MISSING,
        ...Object.keys(CONDITIONS).map((condition) => `alice/${condition}`),
      ]
      const expected = await askAll(hidden, reference, token(hidden))
      for (const name of others) {
        const answers = await askAll(hidden, name, token(hidden))
        const different = [...answers].filter(
          ([request, answer]) => comparable(answer) !== comparable(expected.get(request) ?? answer),
        )
        t.strictSame(different, [], name.slice(0, 60))
      }

      for (const [request, { statusLine, body }] of expected) {
        if (/^(?:GET|HEAD) the list|^POST a /.test(request)) t.equal(statusLine, `HTTP/1.1 ${listed}`, request)
        else t.equal(statusLine, 'HTTP/1.1 405 Method Not Allowed', request)
        if (/^GET the list|^POST a /.test(request)) t.equal(body, `${JSON.stringify({ error })}\n`)
        if (request.startsWith('HEAD')) t.equal(body, '')
      }
      t.strictSame(await itemsOf(hidden.service.admin.listStatuses('alice/sound', null)), [], 'nothing was stored')
    },
  )
}

t.test(
  'Whoever may read learns what is wrong, and the log tells the admin of what strangers are not told',
  async (t) => {
    const { service, sha, alice, mallory } = await scene(t)
    const answers: Record<string, number> = {}
    for (const condition of Object.keys(CONDITIONS))
      answers[condition] = (await service.list(`alice/${condition}`, sha, alice)).status
    const { sound, 'with-an-unreadable-mark': unreadableMark, ...broken } = answers
    t.strictSame([sound, unreadableMark], [200, 200])
    for (const [condition, status] of Object.entries(broken)) t.equal(status, 503, condition)

    const before = service.log.length
    t.equal((await service.list('alice/a-loop', sha, mallory)).status, 404)
    t.match(service.log.slice(before), [
      { level: 50, repository: 'alice/a-loop', err: { message: /ELOOP/ } },
      { status: 404 },
    ])
    t.equal(
      (await service.report('alice/sound', sha, alice, { state: 'success' })).status,
      201,
      'the service still answers',
    )
  },
)

t.test('An owner folder that cannot be read hides all that may be in it', async (t) => {
  const { service, sha, mallory } = await scene(t)
  const loop = join(service.repositories, 'carol')
  symlinkSync(loop, loop)
  const file = join(service.repositories, 'dave')
  writeFileSync(file, '')
  for (const token of [undefined, mallory]) {
    const [missing, ...hidden] = await Promise.all(
      ['nobody/x', 'carol/x', 'dave/x'].map(async (name) => await service.list(name, sha, token)),
    )
    for (const answer of hidden) t.strictSame([answer.status, answer.text], [missing?.status, missing?.text])
  }
  t.equal(
    (await service.list('carol/x', sha, await service.tokenOf('carol'))).status,
    503,
    'its owner is told to try again',
  )
  t.equal((await service.list('dave/x', sha, await service.tokenOf('dave'))).status, 404, 'a file is no owner folder')
})
