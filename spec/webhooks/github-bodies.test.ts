import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import t, { type Test } from 'tap'
import { CommitContents } from '../../lib/git/commit-content.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { Refs } from '../../lib/git/refs.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { branchBody, pingBody, pushBody, statusBody } from '../../lib/webhooks/github-bodies.js'
import { ToldRepositories } from '../../lib/webhooks/told-repositories.js'
import {
  addresses,
  branchDelivery,
  pingDelivery,
  push,
  pushDelivery,
  status,
  statusDelivery,
} from '../fixtures/deliveries.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'

const schemas = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('@octokit/webhooks-schemas'), 'utf8'),
) as { definitions: Record<string, object> }

const ajv = new Ajv({
  strict: false,
  allErrors: true,
  formats: { uri: URL.canParse, 'uri-template': URL.canParse, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ },
}).addSchema(schemas, 'github')

const validators = new Map<string, ValidateFunction>()

/**
 * Compares with GitHub's schema of an event.
 * @returns what is wrong, and what is there besides: the schema allows nothing
 */
const compared = (event: string, body: object) => {
  const validate = validators.get(event) ?? ajv.compile({ $ref: `github#/definitions/${event}$event` })
  validators.set(event, validate)
  validate(JSON.parse(JSON.stringify(body)))
  const errors = validate.errors ?? []
  const isMore = ({ keyword }: ErrorObject): boolean => keyword === 'additionalProperties'
  const more = errors
    .filter(isMore)
    .map(({ instancePath, params }) => `${instancePath}/${String(params['additionalProperty'])}`)
  return { wrong: errors.filter((error) => !isMore(error)), more: more.sort() }
}

const inRepository = async (t: Test, format: 'sha1' | 'sha256' = 'sha1') => {
  const folder = t.testdir()
  const { directory, sha } = await makeRepositoryWithCommit(folder, 'alice/hello', { format, public: true })
  const child = await makeCommit(directory, 'Grüße\n\nvon hier')
  const git = new GitProcesses()
  const told = new ToldRepositories(new RepositoryFolder(folder, { topOwner: 'git' }), new Refs(git))
  const contents = new CommitContents(git)
  const [{ content: commit }] = await contents.read(directory, [{ id: child }])
  return { folder, directory, sha, child, commit, told: await told.of(repositoryNamed('alice/hello')) }
}

const REPOSITORY = ['/repository/network_count', '/repository/owner/username', '/repository/subscribers_count']
const COMMIT = ['/commit/commit/verification/verified_at', '/commit/id', '/commit/message', '/commit/timestamp']

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`The event status is GitHub's, with members of Gitea beside, of ${format}`, async (t) => {
    const { child, sha, commit, told } = await inRepository(t, format)
    const delivery = statusDelivery({ status: status({ sha: child }), commit, branches: ['main', 'next'] })
    const body = statusBody(addresses, told, delivery)
    t.strictSame(compared('status', body), {
      wrong: [],
      more: [...COMMIT, ...REPOSITORY, '/previous_state', '/reporter', '/sender/username'].sort(),
    })
    t.match(body, {
      sha: child,
      name: 'alice/hello',
      context: 'ci/test',
      state: 'failure',
      description: '3 of 42 tests',
      target_url: 'https://ci.example.com/1',
      created_at: '2026-01-31T12:00:00Z',
      updated_at: '2026-01-31T12:01:02Z',
      commit: {
        sha: child,
        commit: { message: 'Grüße\n\nvon hier', author: { name: 'A U Thor', email: 'author@example.com' } },
        html_url: `https://status.example.com/repos/alice/hello/commits/${child}`,
        parents: [{ sha }],
        id: child,
        message: 'Grüße\n\nvon hier\n',
      },
      branches: [{ name: 'main', commit: { sha: child }, protected: false }, { name: 'next' }],
      repository: { full_name: 'alice/hello', private: false, visibility: 'public', default_branch: 'main' },
      sender: { login: 'ci-agent' },
      previous_state: 'pending',
      reporter: 'ci-agent',
    })
    t.ok(Math.abs(Date.parse(body.repository.created_at) - Date.now()) < 600_000, 'when its folder was made')
  })
}

t.test('What is not known is not made up', async (t) => {
  const { folder, sha } = await inRepository(t)
  const told = new ToldRepositories(new RepositoryFolder(folder, { topOwner: 'git' }), {
    defaultBranch: () => undefined,
  })
  const gone = await told.of(repositoryNamed('bob/gone'))
  const { reporter: _, ...unknown } = status({ sha, description: null, target_url: null })
  const delivery = statusDelivery({
    repository: repositoryNamed('bob/gone'),
    status: unknown,
    branches: [],
    previous_state: null,
  })
  const body = statusBody(addresses, gone, delivery)
  t.strictSame(body.commit, {
    sha,
    id: sha,
    url: `https://status.example.com/api/v3/repos/bob/gone/commits/${sha}`,
    html_url: `https://status.example.com/repos/bob/gone/commits/${sha}`,
  })
  t.match(body, {
    branches: [],
    description: null,
    target_url: null,
    reporter: null,
    previous_state: null,
    sender: { login: 'bob' },
    repository: { private: true, visibility: 'private', created_at: '1970-01-01T00:00:00Z', default_branch: 'main' },
  })
  t.strictSame(
    compared('status', body).wrong.map(({ instancePath }) => instancePath),
    Array.from({ length: 6 }, () => '/commit'),
    'which the schema wants',
  )
  t.equal((await told.of(repositoryNamed('alice/hello'))).defaultBranch, 'main', 'the usual one for none')
  const many = statusDelivery({ branches: Array.from({ length: 11 }, (_, index) => `b${index}`) })
  t.equal(statusBody(addresses, gone, many).branches.length, 10)
})

t.test('A repository that cannot be read is a failure, without its path', async (t) => {
  const broken = { find: () => Promise.reject(new Error('EIO: /srv/git/alice/hello.git')) }
  const told = new ToldRepositories(broken, { defaultBranch: () => 'main' })
  await t.rejects(told.of(repositoryNamed('alice/hello')), { message: 'the repository cannot be read' })
  const vanished = { find: async () => ({ directory: '/nowhere', public: true }) }
  await t.rejects(new ToldRepositories(vanished, { defaultBranch: () => 'main' }).of(repositoryNamed('alice/hello')), {
    message: 'the repository cannot be read',
  })
})

t.test('The events broken and fixed have the statuses of the tip, and Gitea and GitHub know none', async (t) => {
  const { child, commit, told } = await inRepository(t)
  const statuses = Array.from({ length: 101 }, (_, index) => status({ context: `c${index}` }))
  const { reporter: _, ...unknown } = status({ sha: child })
  const broken = branchBody(addresses, told, branchDelivery({ sha: child, statuses: [unknown, ...statuses], commit }))
  t.match(broken, {
    action: 'broken',
    name: 'alice/hello',
    ref: 'refs/heads/main',
    branch: 'main',
    sha: child,
    state: 'failure',
    total_count: 102,
    commit: { id: child, sha: child },
    repository: { full_name: 'alice/hello' },
  })
  t.equal(broken.statuses.length, 100)
  t.strictSame(broken.statuses.slice(0, 2), [
    {
      context: 'ci/test',
      state: 'failure',
      description: '3 of 42 tests',
      target_url: 'https://ci.example.com/1',
      updated_at: '2026-01-31T12:01:02Z',
      reporter: null,
    },
    { ...broken.statuses[0], context: 'c0', reporter: 'ci-agent' },
  ])
  const fixed = branchBody(addresses, told, branchDelivery({ event: 'fixed', statuses: [] }))
  t.match(fixed, { action: 'fixed', state: 'success', total_count: 0, statuses: [] })
})

t.test("The event push is GitHub's, with members of Gitea beside", async (t) => {
  const { sha, child, commit, told } = await inRepository(t)
  const zeros = '0'.repeat(40)
  const pushed = { id: child, ...commit }
  const delivery = pushDelivery({
    push: push({ before: sha, after: child }),
    commits: [{ ...pushed, added: ['a.txt'], modified: ['b.txt'], removed: ['c.txt'] }],
    total: 25,
    head: pushed,
  })
  const more = ['/compare_url', '/pusher/login', ...REPOSITORY, '/sender/username', '/total_commits']
  const body = pushBody(addresses, told, delivery)
  t.strictSame(compared('push', body), { wrong: [], more })
  const toldCommit = {
    id: child,
    message: 'Grüße\n\nvon hier\n',
    url: `https://status.example.com/repos/alice/hello/commits/${child}`,
    author: { name: 'A U Thor', email: 'author@example.com' },
    committer: { name: 'C O Mitter', email: 'committer@example.com' },
  }
  t.match(body, {
    ref: 'refs/heads/main',
    before: sha,
    after: child,
    created: false,
    deleted: false,
    forced: false,
    compare: `https://status.example.com/alice/hello/compare/${sha}...${child}`,
    commits: [{ ...toldCommit, added: ['a.txt'], modified: ['b.txt'], removed: ['c.txt'] }],
    head_commit: { ...toldCommit, added: [], modified: [], removed: [] },
    pusher: { name: 'alice', login: 'alice', username: 'alice' },
    sender: { login: 'git' },
    repository: { url: 'https://status.example.com/alice/hello', full_name: 'alice/hello' },
    total_commits: 25,
  })
  const tag = push({ ref: 'refs/tags/v1', before: zeros, after: child })
  const made = pushBody(addresses, told, { ...delivery, push: tag, commits: [], total: 0 })
  t.match(made, { ref: 'refs/tags/v1', created: true, deleted: false, commits: [], head_commit: { id: child } })
  t.strictSame(compared('push', made).wrong, [])
  const { head: _, ...noHead } = delivery
  const gone = { push: push({ before: sha, after: zeros }), commits: [], total: 0 }
  const deleted = pushBody(addresses, told, { ...noHead, ...gone })
  t.match(deleted, { created: false, deleted: true, forced: false, head_commit: null, after: zeros })
  t.strictSame(compared('push', deleted).wrong, [])
  t.match(pushBody(addresses, told, { ...delivery, forced: true }), { forced: true })
})

t.test("The event ping is GitHub's, and does not repeat the address", async (t) => {
  const one = pingBody(addresses, pingDelivery({ on: 'alice/hello', events: ['status', 'push'] }))
  t.strictSame(compared('ping', one), { wrong: [], more: ['/sender/username'] })
  t.match(one, { organization: { login: 'alice' }, sender: { login: 'root' } })
  t.match(one, { hook: { type: 'Repository', active: true, events: ['status', 'push'] } })
  t.notMatch(JSON.stringify(one), /secret|token/)
  const all = pingBody(addresses, pingDelivery({ on: '*', state: 'paused' }))
  t.match(all, { hook_id: all.hook.id, hook: { type: 'Organization', active: false }, organization: { login: '*' } })
})
