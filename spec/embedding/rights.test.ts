// Rights that a program of the git server tells, from the requests to the program.
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import { openRights } from '../../lib/embedding/open-rights.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { commandAccessPolicy, RightsUnavailable } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { Gitolite, gitoliteIsMissing } from '../fixtures/gitolite.js'
import { nameOnly, RightsProgram } from '../fixtures/rights-program.js'
import { startService, type TestService } from '../fixtures/service.js'
import { signIn, visit } from '../fixtures/visit.js'
import { until } from '../fixtures/within.js'

/** A service of its own whose rights are those of a program. */
async function serve(t: Test, { body, seconds = 600 }: { body?: string; seconds?: number } = {}) {
  const folder = join(t.testdir({ rights: {} }), 'rights')
  const program = new RightsProgram(folder, body)
  // Its folder is emptied by the service's own.
  const service = await startService(t, { settings: { rights: { command: program.command, seconds } } })
  mkdirSync(folder)
  return { service, program: new RightsProgram(folder, body) }
}

async function answers(service: TestService, repository: string, sha: string, user: string): Promise<number[]> {
  const token = await service.tokenOf(user)
  const { status: reported } = await service.report(repository, sha, token, { state: 'success' })
  return [reported, (await service.list(repository, sha, token)).status]
}

t.test('The program says who may report and list; owners and grants count for nothing', async (t) => {
  const { service, program } = await serve(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'team/hello')
  program.allow('team/hello alice RW', 'team/hello bob R')
  await service.admin.grantAccess('team/hello', 'carol', 'write')
  const of = async (user: string) => await answers(service, 'team/hello', sha, user)
  t.strictSame(await of('alice'), [201, 200])
  t.strictSame(await of('bob'), [403, 200])
  for (const user of ['team', 'carol', 'eve']) t.strictSame(await of(user), [404, 404], user)
  const limited = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null, access: 'read' as const }
  const { token } = await service.admin.createToken(limited)
  t.equal((await service.report('team/hello', sha, token, { state: 'success' })).status, 403, 'a limit is one')
  const call = async (path: string) =>
    await service.call('GET', path, { headers: { Authorization: `token ${await service.tokenOf('alice')}` } })
  t.match((await call('/api/v3/repos/team/hello')).body, { permissions: { push: true } })
})

t.test('Who only reads needs one call, and a right that is withdrawn is gone in time', async (t) => {
  const { service, program } = await serve(t, { seconds: 1 })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'team/hello')
  program.allow('team/hello alice RW')
  const token = await service.tokenOf('alice')
  t.equal((await service.list('team/hello', sha, token)).status, 200)
  t.strictSame(program.calls, [{ right: 'R', lines: ['team/hello\talice'] }])
  program.allow()
  await until(async () => (await service.list('team/hello', sha, token)).status === 404)
})

t.test(
  'Where the program does not answer, private and missing are refused alike, and public is nobody’s',
  async (t) => {
    const { service } = await serve(t, { body: 'console.error("no such luck"); process.exit(1)' })
    const { sha } = await makeRepositoryWithCommit(service.repositories, 'team/private')
    await makeRepository(service.repositories, 'team/public', { public: true })
    const token = await service.tokenOf('alice')
    for (const name of ['team/private', 'team/missing', 'team/public']) {
      const { status, body, headers } = await service.list(name, sha, token)
      t.strictSame([status, body], [503, { error: 'rights cannot be determined at the moment' }], name)
      t.equal(headers.get('Retry-After'), '5')
      t.equal((await service.report(name, sha, token, { state: 'success' })).status, 503)
    }
    t.equal((await service.list('team/private', sha)).status, 401)
    const lines = service.log.filter(({ msg }) => msg === 'rights cannot be determined')
    t.match(lines[0], { questions: 1, err: { message: 'it ended with 1: no such luck' } })
    const cookie = await signIn(service, 'alice')
    t.equal((await visit(service, '/', { cookie })).status, 503, 'not a list that is shorter')
    t.match((await visit(service, '/')).text, 'team/public')
  },
)

t.test('The home page is one call, whoever looks', async (t) => {
  const { service, program } = await serve(t)
  for (let index = 0; index < 60; index++) await makeRepository(service.repositories, `team/r${index}`)
  await makeRepository(service.repositories, 'team/public', { public: true })
  program.allow('team/r7 alice R', 'team/r58 alice RW')
  const cookie = await signIn(service, 'alice')
  const { text } = await visit(service, '/', { cookie })
  t.strictSame(
    [...text.matchAll(/href="\/repos\/(team\/\w+)"/g)].map(([, name]) => name),
    ['team/public', 'team/r58', 'team/r7'],
  )
  t.strictSame(
    program.calls.map(({ right, lines }) => [right, lines.length]),
    [['R', 61]],
  )
  t.equal((await visit(service, '/', { cookie: await signIn(service, '_odd') })).status, 200)
})

t.test('A host takes it for its access policy', async (t) => {
  const program = new RightsProgram(t.testdir())
  program.allow('hello alice RW', 'hello bob R')
  const accessPolicy = commandAccessPolicy({ command: program.command, nameOf: nameOnly })
  const { service, repositories, tokenOf } = await embed(t, {
    accessPolicy,
    pages: { session: () => 'bob', base: '/pages' },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'git/hello')
  for (let index = 0; index < 40; index++) await makeRepository(repositories, `git/r${index}`)
  t.equal(await service.access('alice', 'git/hello'), 'write')
  await t.resolves(service.report('git/hello', sha, { state: 'success' }, 'alice'))
  await t.rejects(service.report('git/hello', sha, { state: 'success' }, 'bob'), { code: 'write_denied' })
  const url = await listen(t, service.handler)
  const list = `${url}/api/v1/repos/git/hello/commits/${sha}/statuses`
  t.equal((await fetchJson(list, { token: await tokenOf('bob') })).status, 200)
  const before = program.calls.length
  t.match(await (await fetch(`${url}/pages/`)).text(), 'git/hello')
  t.match(program.calls.slice(before), [{ right: 'R', lines: { length: 40 } }], 'what is known is not asked again')
  await t.rejects(service.administration.grantAccess('git', 'bob', 'read'), { name: 'AdministrationError' })
  accessPolicy.close()
})

t.test('One that cannot be looked at is asked about by its own name', async (t) => {
  const folder = t.testdir({ repositories: { alice: {} } })
  const path = join(folder, 'repositories')
  symlinkSync('x.git', join(path, 'alice/x.git'))
  const program = new RightsProgram(folder)
  program.allow('alice/x bob R')
  const repositories = new RepositoryFolder(path, { topOwner: 'git' })
  const policy = openRights({ command: program.command, seconds: 1 }, { folder: repositories, logger: silentLogger })
  t.equal(await policy?.access('bob', repositoryNamed('alice/x')), 'read')
  policy?.close()
})

t.test('Flat repositories of a real gitolite, in a host', { skip: gitoliteIsMissing }, async (t) => {
  const home = t.testdir({})
  const gitolite = new Gitolite(home, '')
  const accessPolicy = commandAccessPolicy({
    command: ['env', `HOME=${home}`, 'gitolite', 'access', '%', '%', '{access}', 'any'],
    seconds: 1,
    nameOf: async (repository) => ((await gitolite.find(repository)) ? repository.name : undefined),
  })
  const { service } = await embed(t, { repositories: gitolite, accessPolicy })
  const of = async (user: string, name: string) => await service.access(user, `git/${name}`)
  t.equal(await of('alice@example.com', 'testing'), 'write', 'RW+ = @all, as gitolite begins')
  t.equal(await of('alice', 'gitolite-admin'), 'none')
  t.equal(await of('admin', 'gitolite-admin'), 'write')
  t.strictSame(
    [await of('@all', 'testing'), await of('_alice', 'testing'), await of('alice', 'a~b')],
    Array(3).fill('none'),
  )
  const others = await Promise.all(['bob', '0', 'carol', 'a,b'].map(async (user) => await of(user, 'testing')))
  t.strictSame(others, ['write', 'none', 'write', 'none'], 'no name costs others their answer')
  gitolite.allow('repo gitolite-admin\n    R = alice\n')
  await until(async () => (await of('alice', 'gitolite-admin')) === 'read')
})

t.test('A command that cannot be one is refused when it is given', async (t) => {
  const good = ['gitolite', '{access}']
  for (const [options, message] of [
    [{ command: [] }, 'commandAccessPolicy: the command must not be empty'],
    [
      { command: ['gitolite', 'R'] },
      'commandAccessPolicy: command must be a program and its arguments, {access} among them',
    ],
    [{ command: [...good, 'a\0'] }, 'commandAccessPolicy: command/2 must be a word without control characters'],
    [{ command: [...good, ''] }, 'commandAccessPolicy: command/2 must be a word without control characters'],
    [{ command: 'gitolite' }, 'commandAccessPolicy: command must be array'],
    [{ command: good, seconds: 0 }, 'commandAccessPolicy: seconds must be >= 1'],
  ] as const)
    t.throws(() => commandAccessPolicy(options as never), { name: 'TypeError', message })
  const program = new RightsProgram(t.testdir())
  const policy = commandAccessPolicy({ command: program.command })
  t.strictSame(await policy.accessToEach('alice', [repositoryNamed('team/hello')]), ['none'])
  t.strictSame(program.calls[0]?.lines, ['team/hello\talice'], 'the name is the whole one')
})

t.test('Rights of a host that cannot be determined, one by one or of many', async (t) => {
  const failing = async () => await Promise.reject(new RightsUnavailable('the directory is away'))
  let accessToEach: () => Promise<never> = failing
  const { service, repositories } = await embed(t, {
    accessPolicy: { access: failing, accessToEach: async () => await accessToEach() },
    pages: { session: () => 'bob' },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  await makeRepository(repositories, 'alice/public', { public: true })
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, 'alice'), { code: 'rights_unavailable' })
  t.equal(await service.access('alice', 'alice/hello'), 'none')
  const url = await listen(t, service.handler)
  t.equal((await fetch(url)).status, 503)
  for (const answer of [async () => await Promise.reject(new Error('a fault')), async () => ['read', 'all', 'none']]) {
    accessToEach = answer as typeof failing
    const response = await fetch(url)
    const text = await response.text()
    t.strictSame([response.status, text.includes('alice/public'), text.includes('alice/hello')], [200, true, false])
  }
})
