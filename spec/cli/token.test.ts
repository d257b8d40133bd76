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
    stderr: 'commit-status: "hello" is no repository name: <owner>/<repo>\n',
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
