import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

const DONE = { status: 0, stdout: '', stderr: '' }

t.test('A token is made, works at once, is listed, and is refused once it is revoked', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const { url } = await place.serve(t)
  const report = async (token: string) => {
    const response = await fetch(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      body: '{"state":"success"}',
    })
    return response.status
  }
  const made = await place.run(['token', 'create', 'alice', '--name', 'CI of hello', '--expires', '90d'])
  const [words, token = ''] = made.stdout.trimEnd().split('\n')
  t.match(token, /^cst_[0-9a-f]{48}$/, 'alone on the last line')
  const id =
    /^Token (\S+) of alice, scope repo, expires \d{4}-.*Z\. It is shown this once:$/.exec(words ?? '')?.[1] ?? ''
  t.equal(await report(token), 201)

  const listed = await place.run(['token', 'list', 'alice'])
  t.match(
    listed.stdout,
    new RegExp(
      '^ID +USER +SCOPES +CREATED +EXPIRES +LAST USED +LIMITS +NAME\\n' +
        `${id} +alice +repo +\\S+Z +\\S+Z +never +none +CI of hello\\n$`,
    ),
  )
  t.notMatch(listed.stdout, token)
  t.strictSame(await place.run(['token', 'list', 'bob']), DONE, 'nothing is printed where there is nothing')

  t.strictSame(await place.run(['token', 'revoke', id]), DONE)
  t.equal(await report(token), 401)
  t.strictSame(await place.run(['token', 'revoke', id]), {
    status: 1,
    stdout: '',
    stderr: `commit-status: there is no token ${id}\n`,
  })
  for (const wrong of ['..', '', 'a b', 'x'.repeat(101)])
    t.match(await place.run(['token', 'revoke', wrong]), { status: 2, stdout: '', stderr: / is no id of a token/ })
})

t.test('A token that leaked is revoked by itself, and shown nowhere', async (t) => {
  const place = new CommandPlace(t.testdir())
  const tokens = [await place.tokenOf('alice'), await place.tokenOf('alice'), await place.tokenOf('bob')]
  const [one = '', other = ''] = tokens
  t.strictSame(await place.run(['token', 'revoke', '-'], { input: `${one}\n` }), DONE)
  t.strictSame(await place.run(['token', 'revoke', other]), DONE)
  for (const again of [
    await place.run(['token', 'revoke', '-'], { input: one }),
    await place.run(['token', 'revoke', one]),
    await place.run(['token', 'revoke', one.slice(0, 30)]),
  ]) {
    t.match(again, { status: 1, stdout: '', stderr: /^commit-status: there is no token [0-9a-f]{12}\n$/ })
    t.notMatch(again.stderr, one.slice(0, 30))
  }
  const wrong = await place.run(['token', 'revoke', '-'], { input: `my ${one}` })
  t.match(wrong, { status: 2, stderr: /^error: standard input has neither a token nor the id of one\n/ })
  t.notMatch(wrong.stderr, one)
  for (const args of [[], ['0123456789ab', '--user', 'bob']])
    t.match(await place.run(['token', 'revoke', ...args]), { status: 2, stderr: /^error: give either/ })
  await place.tokenOf('bob')
  t.match(await place.run(['token', 'revoke', '--user', 'bob']), { status: 0, stdout: 'revoked 2 tokens of bob\n' })
  t.strictSame(await place.run(['token', 'list']), DONE)
})

t.test('What a user may do is told with its reasons; what can have no effect is noted', async (t) => {
  const place = new CommandPlace(t.testdir())
  const run = async (line: string) => await place.run(line.split(' '), { notes: true })
  const note = (words: string) => ({
    status: 0,
    stdout: '',
    stderr: new RegExp(`^commit-status: note: ${words}\n$`, 'm'),
  })
  t.match(await run('access grant alice/nothere bob read'), note('there is no repository alice/nothere yet'))
  t.match(await run('access grant nobody bob read'), note('there is no repository of nobody yet'))
  t.match(
    (await run('token create carol --repository carol/x')).stderr,
    /carol has no right .*\n.* no repository carol\/x yet/,
  )
  const { directory } = await makeRepositoryWithCommit(place.repositories, 'alice/hello', { public: true })
  cpSync(directory, join(place.repositories, 'project.git'), { recursive: true })
  const top = await run('access grant project bob read')
  t.match(top, note('there is no repository of project yet; the one at the top of the folder is git/project'))
  t.match(await run('access check bob project'), {
    status: 2,
    stderr: /; at the top of the folder it is git\/project,/,
  })
  t.strictSame(await run('access grant alice/hello bob write'), DONE)
  t.strictSame(await run('access grant alice bob read'), DONE)
  for (const user of ['alice', 'bob']) t.match(await run(`token create ${user}`), { status: 0, stderr: '' })
  const check = async (line: string) => (await run(`access check ${line}`)).stdout
  t.equal(
    await check('bob alice/hello'),
    'write by the grant on alice/hello; also read by the grant on alice; also read by being public\n',
  )
  t.equal(await check('alice alice/hello'), 'write by being the owner; also read by being public\n')
  t.equal(await check('carol alice/hello'), 'read by being public\n')
  t.equal(
    await check('bob alice/nothere'),
    'read by the grant on alice/nothere; also read by the grant on alice; there is no such repository\n',
  )
  t.equal(await check('carol alice/nothere'), 'none; there is no such repository\n')
  t.match(JSON.parse(await check('carol alice/hello --json')), {
    ...{ user: 'carol', repository: 'alice/hello', access: 'read', exists: true },
    rights: [{ access: 'read', by: 'public' }],
  })
  const { rights } = JSON.parse(await check('bob alice/hello --json')) as { rights: unknown }
  t.match(rights, [{ access: 'write', by: { grant: 'alice/hello' } }])
  // Nothing is said of what cannot be told.
  rmSync(place.repositories, { recursive: true })
  t.strictSame(await run('access grant alice/hello bob write'), DONE)
})

t.test('A token may be limited to repositories, contexts and reading, which its list shows', async (t) => {
  const place = new CommandPlace(t.testdir())
  const limits = ['--repository', 'alice/hello', '--repository', 'bob/x', '--contexts', 'test/*', '--access', 'read']
  const { stdout } = await place.run(['token', 'create', 'ci', ...limits])
  t.match(stdout, /^Token \w+ of ci, scope repo, never expires; limited to alice\/hello bob\/x "test\/\*" read\./)
  await place.run(['token', 'create', 'ci', '--access', 'write'])
  const listed = (await place.run(['token', 'list', '--json'])).stdout.trimEnd().split('\n')
  t.match(JSON.parse(listed[0] ?? ''), {
    repositories: ['alice/hello', 'bob/x'],
    contexts: ['test/*'],
    access: 'read',
    scopes: ['repo'],
  })
  t.strictSame(
    ['repositories', 'contexts', 'access'].filter((limit) => limit in (JSON.parse(listed[1] ?? '') as object)),
    [],
  )
  t.match((await place.run(['token', 'list'])).stdout, / {2}alice\/hello bob\/x "test\/\*" read/)
  t.strictSame(await place.run(['token', 'create', 'ci', '--repository', 'hello']), {
    status: 2,
    stdout: '',
    stderr:
      'commit-status: "hello" is no repository name: <owner>/<repo>; at the top of the folder it is git/hello, ' +
      'unless topOwner names another owner\n',
  })
})

t.test('A token may have no scope, an end, or none', async (t) => {
  const place = new CommandPlace(t.testdir())
  const expiring = async (...options: string[]) => {
    const { stdout } = await place.run(['token', 'create', 'alice', '--json', ...options])
    const { expires_at, created_at, scopes } = JSON.parse(stdout) as {
      expires_at: string | null
      created_at: string
      scopes: string[]
    }
    return {
      scopes,
      expires: expires_at,
      seconds: expires_at === null ? undefined : Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 1000),
    }
  }
  t.match(await expiring(), { scopes: ['repo'], expires: null })
  t.match(await expiring('--expires', '2100-01-31'), { expires: '2100-01-31T00:00:00.000Z' })
  for (const [when, seconds] of [
    ['30s', 30],
    ['90d', 90 * 24 * 3600],
  ] as const) {
    const left = (await expiring('--expires', when)).seconds ?? 0
    t.ok(left <= seconds && left > seconds - 20, `${when}: ${left} s`)
  }
  t.match(
    (await place.run(['token', 'create', 'alice', '--scopes', 'none', '--expires', 'never'])).stdout,
    /^Token \w+ of alice, no scope, never expires\. It is shown this once:\ncst_\w+\n$/,
  )
})
