import { renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'
import { needsLevel, startService, type Answer, type TestService } from '../fixtures/service.js'
import { itemsOf } from '../fixtures/work.js'

const success = { state: 'success' }
const UNREADABLE = 'the repository cannot be read at the moment'

t.test(
  'A damaged status gives 500: clients are told nothing of the cause, the log has it with the request id',
  { skip: needsLevel },
  async (t) => {
    const hosted = await hostCommit(t)
    const { repository, sha, token } = hosted
    await hosted.report({ ...success, context: 'damaged', description: 'once true' })
    await damage(hosted, `${repository}/${sha}/damaged`, 'once true', 'not true')
    await t.test('after a restart', async (t) => {
      const service = await restart(t, hosted)
      const list = await service.list(repository, sha)
      const report = await service.report(repository, sha, token, { ...success, context: 'damaged' })
      for (const answer of [list, report]) {
        refused(t, answer, 500, 'internal error')
        t.notMatch(JSON.stringify([...answer.headers]), /damage|not true/)
        t.match(linesOf(service, answer), [
          { level: 50, status: 500, err: { message: /the value of .* is damaged/, stack: String } },
        ])
      }
      t.equal(
        (await service.report(repository, sha, token, { ...success, context: 'another' })).status,
        201,
        'the service goes on',
      )
      const other = await makeCommit(hosted.directory, 'another')
      t.match(await service.list(repository, other), { status: 200, body: { statuses: [] } })
    })
  },
)

t.test(
  'A damaged token is refused with 500: it is not known to be wrong, and does not count as a failure',
  { skip: needsLevel },
  async (t) => {
    const hosted = await hostCommit(t)
    const { repository, sha, token } = hosted
    const other = await hosted.service.tokenOf('alice')
    const [first] = await hosted.service.admin.listTokens('alice')
    await damage(hosted, `!tokens!${String(first?.id)}`, '"repo"', '"none"')
    await t.test('after a restart', async (t) => {
      const service = await restart(t, hosted, { authFailures: { limit: 1, windowSeconds: 60 } })
      for (let repeat = 0; repeat < 2; repeat++) {
        const answer = await service.report(repository, sha, token, success)
        refused(t, answer, 500, 'internal error')
        t.match(linesOf(service, answer), [{ level: 50, err: { message: /is damaged/ } }])
      }
      t.strictSame(await itemsOf(service.admin.listStatuses(repository, null)), [], 'nothing was saved')
      t.equal((await service.report(repository, sha, other, success)).status, 201)
    })
  },
)

t.test(
  'What of a right cannot be determined means none: a damaged grant gives nothing',
  { skip: needsLevel },
  async (t) => {
    const hosted = await hostCommit(t, { private: true })
    const {
      repository,
      sha,
      service: { admin },
    } = hosted
    const token = await hosted.service.tokenOf('bob')
    await admin.grantAccess(repository, 'bob', 'read')
    await damage(hosted, `!grants!alice/hello/bob`, 'read', 'write')
    await t.test('after a restart', async (t) => {
      const service = await restart(t, hosted)
      refused(t, await service.list(repository, sha, token), 404, 'repository not found')
      refused(t, await service.report(repository, sha, token, success), 404, 'repository not found')
      t.match(
        service.log.filter(({ msg }) => msg === 'access cannot be determined'),
        { length: 2, 0: { level: 50, repository, user: 'bob' } },
      )
      t.equal((await service.report(repository, sha, hosted.token, success)).status, 201, 'others keep theirs')
    })
  },
)

t.test('A repository that cannot be read gives 503 with Retry-After, a log line, and never 404', async (t) => {
  const hosted = await hostCommit(t)
  const { service, sha, token } = hosted
  const ways: Record<string, (directory: string, sha: string) => void> = {
    'no HEAD': (directory) => rmSync(join(directory, 'HEAD')),
    'no objects': (directory) => rmSync(join(directory, 'objects'), { recursive: true }),
    'a file in place of the objects': (directory) => {
      rmSync(join(directory, 'objects'), { recursive: true })
      writeFileSync(join(directory, 'objects'), '')
    },
    'a config that is none': (directory) => writeFileSync(join(directory, 'config'), '[core'),
    'an unknown extension': (directory) =>
      writeFileSync(
        join(directory, 'config'),
        '[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tnonsense = true\n',
      ),
    'a cut commit': (directory, id) => truncateSync(join(directory, 'objects', id.slice(0, 2), id.slice(2)), 5),
  }
  for (const [index, [what, spoil]] of Object.entries(ways).entries()) {
    const name = `alice/spoilt${index}`
    const { directory, sha: id } = await makeRepositoryWithCommit(service.repositories, name, { public: true })
    spoil(directory, id)
    for (const answer of [await service.list(name, id), await service.report(name, id, token, success)]) {
      unavailable(t, answer, UNREADABLE, what)
      t.match(
        linesOf(service, answer),
        [
          {
            level: 50,
            status: 503,
            err: {
              code: 'repository_unreadable',
              stack: /caused by: RepositoryUnreadable: cannot read .*\n[^]*caused by: /,
            },
          },
        ],
        `${what}: logged with its cause`,
      )
      t.notMatch(answer.text, directory)
    }
  }
  t.equal((await service.list('alice/hello', sha)).status, 200, 'others go on')
})

t.test('A repository that cannot be looked up gives 503 to whoever may see it, and to nobody else', async (t) => {
  const hosted = await hostCommit(t)
  const { service, sha, token, directory, repository } = hosted
  renameSync(directory, `${directory}.away`)
  symlinkSync(directory, directory)
  unavailable(t, await service.list(repository, sha, token), UNREADABLE, 'reading')
  unavailable(t, await service.report(repository, sha, token, success), UNREADABLE, 'writing')
  refused(t, await service.list(repository, sha), 401, 'authentication required', 'anonymous')
  refused(
    t,
    await service.list(repository, sha, await service.tokenOf('stranger')),
    404,
    'repository not found',
    'a stranger',
  )
  t.match(
    service.log.filter(({ msg }) => msg === 'the repository cannot be looked up'),
    { length: 2, 0: { level: 50, repository, err: { code: 'ELOOP' } } },
  )
  rmSync(directory)
  renameSync(`${directory}.away`, directory)
  t.equal((await service.report(repository, sha, token, success)).status, 201, 'once it is repaired')
})

t.test(
  'A service that is told to stop answers what has begun to arrive, each time saying that it closes; no connection ' +
    'holds it up',
  async (t) => {
    const { service, token, reportPath, listPath } = await hostCommit(t)
    const open = async () => await RawSocket.open(t, service.url)
    const [running, late, piped, idle, fresh] = [await open(), await open(), await open(), await open(), await open()]
    await idle.send(requestHead('GET', '/healthz'))
    t.equal((await idle.answer()).status, 200)
    const report = requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': '19' })
    await running.send(report)
    await late.send(requestHead('GET', listPath).slice(0, -2))
    await piped.send(requestHead('GET', listPath), report)
    await service.call('GET', '/healthz')
    const closed = service.close()
    for (const socket of [idle, fresh])
      t.equal(await socket.ended(), '', 'a connection without a request is ended at once')
    await t.rejects(open(), { code: 'ECONNREFUSED' }, 'nobody else gets in')
    await late.send('\r\n')
    await running.send('{"state":"success"}')
    await piped.send('{"state":"success"}')
    t.equal((await piped.answer()).status, 200)
    for (const [socket, status] of [
      [late, 200],
      [running, 201],
      [piped, 201],
    ] as const) {
      const answer = await socket.answer()
      t.equal(answer.status, status)
      t.equal(answer.headers.get('connection'), 'close')
      t.equal(await socket.ended(), '')
    }
    await closed
  },
)

t.test('A connection that breaks while an answer is made or sent breaks nothing else', async (t) => {
  const { service, repository, sha, token, reportPath, listPath, report } = await hostCommit(t)
  for (let context = 0; context < 20; context++)
    await report({ ...success, context: `${context}`, description: 'x'.repeat(1000) })
  const body = JSON.stringify({ ...success, context: 'broken' })
  const requests = [
    requestHead('GET', listPath).repeat(100),
    requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': String(body.length) }) + body,
  ]
  for (let repeat = 0; repeat < 20; repeat++) {
    for (const request of requests) {
      const socket = await RawSocket.open(t, service.url)
      await socket.send(request)
      if (repeat % 2 === 0) await socket.answer()
      socket.reset()
    }
  }
  t.equal((await service.report(repository, sha, token, success)).status, 201)
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
    'nor is it worth a line in the log',
  )
})

function unavailable(t: Test, answer: Answer, message: string, name: string): void {
  refused(t, answer, 503, message, name)
  t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/, `${name}: Retry-After`)
}

/** The log lines of a request. */
function linesOf(service: TestService, answer: Answer): object[] {
  return service.log.filter(({ request }) => request === answer.headers.get('x-request-id'))
}

/** Stops the service and changes a stored value on the disk, as a failing disk would. */
async function damage({ service }: HostedCommit, key: string, before: string, after: string): Promise<void> {
  await service.close()
  const database = await LevelDatabase.open(service.store)
  const [value] = await database.read([key])
  if (!value?.includes(before)) throw new Error(`there is no ${before} in ${String(value)}`)
  await database.write([{ type: 'put', key, value: value.replace(before, after) }])
  await database.close()
}

async function restart(t: Test, { service }: HostedCommit, settings = {}): Promise<TestService> {
  return await startService(t, {
    settings: { repositories: service.repositories, store: service.address, ...settings },
  })
}
