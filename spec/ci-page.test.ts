import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { chapter, codeBlocks } from './fixtures/page.js'
import { hostCommit } from './fixtures/hosted-commit.js'

const HOST = 'https://status.example.com'

/** What each CI gives a step, and what Tekton puts in place of its parameters. */
const given = (sha: string) => ({
  environment: {
    REPOSITORY: 'alice/hello',
    SHA: sha,
    STATE: 'success',
    GITHUB_REPOSITORY: 'alice/hello',
    GITHUB_SHA: sha,
    CI_PROJECT_PATH: 'alice/hello',
    CI_REPO: 'alice/hello',
    CI_COMMIT_SHA: sha,
    CI_PIPELINE_STATUS: 'success',
    DRONE_REPO: 'alice/hello',
    DRONE_COMMIT_SHA: sha,
    DRONE_BUILD_STATUS: 'success',
  },
  parameters: { repository: 'alice/hello', sha, state: 'success' },
})

for (const [name, context] of Object.entries({
  curl: 'build',
  'GitHub Actions and act': 'build',
  'GitLab CI': 'build',
  Woodpecker: 'woodpecker',
  Drone: 'drone',
  Tekton: 'tekton',
})) {
  t.test(`The command of the page for ${name} reports, as it is pasted`, async (t) => {
    const { service, sha, token, stored } = await hostCommit(t, { private: true })
    const { environment, parameters } = given(sha)
    const text = chapter('config/ci.md', `## ${name}`)
    const [line = '', ...more] = text.split('\n').filter((one) => /^[ -]*curl --fail /.test(one))
    t.strictSame(more, [])
    const command = Object.entries(parameters)
      .reduce((script, [key, value]) => script.replaceAll(`$(params.${key})`, value), line.replace(/^[ -]*/, ''))
      .replace(HOST, service.url)
    await promisify(execFile)('bash', ['-euc', command], {
      env: { PATH: process.env['PATH'], STATUS_TOKEN: token, ...environment },
    })
    t.match(await stored(), [{ context, state: 'success', sha }])
  })
}

t.test('The lines of the page for octokit report, as they are pasted', async (t) => {
  const { service, sha, token, stored } = await hostCommit(t, { private: true })
  const [code = ''] = codeBlocks(chapter('config/ci.md', '## GitHub Actions and act'), 'js')
  // Below the checkout, where its packages are found.
  const folder = mkdtempSync(join(fileURLToPath(new URL('..', import.meta.url)), '.tap/octokit-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  writeFileSync(join(folder, 'report.mjs'), code.replace(HOST, service.url))
  const environment = { ...given(sha).environment, STATUS_TOKEN: token }
  await promisify(execFile)(process.execPath, ['report.mjs'], { cwd: folder, env: environment })
  t.match(await stored(), [{ context: 'build', state: 'success' }])
})

t.test('Every address of the page leads to the API of its chapter', async (t) => {
  const giteaHosts = ['gitea-status.example.com']
  const { service } = await hostCommit(t, { settings: { giteaHosts, trustedProxies: ['127.0.0.1'] } })
  const github = { path: '/api/v3/repos/alice/hello', body: { full_name: 'alice/hello', owner: { login: 'alice' } } }
  const gitlab = { path: '/api/v4/projects/alice%2Fhello', body: { path_with_namespace: 'alice/hello' } }
  const gitea = { path: '/api/v1/version', body: { version: '1.24.0' } }
  const expected: [chapter: string, address: string, { path: string; body: object }][] = [
    ['Jenkins', '/api/v3', github],
    ['Jenkins', '', gitlab],
    ['Buildbot', '/api/v3', github],
    ['Buildbot', '', gitlab],
    ['Concourse', '/api/v3', github],
    ['Flux', '/alice/hello', github],
    ['Flux', '/alice/hello', gitea],
    ['TeamCity', '/api/v3', github],
    ['TeamCity', '/api/v4', gitlab],
  ]
  for (const [name, address, { path, body }] of expected) {
    const host = body === gitea.body ? 'https://gitea-status.example.com' : HOST
    const blocks = ['text', 'groovy', 'python', 'yaml'].flatMap((one) =>
      codeBlocks(chapter('config/ci.md', `## ${name}`), one),
    )
    const addresses: readonly string[] = blocks.join('\n').match(/https:\/\/[\w.-]*status\.example\.com[\w./-]*/g) ?? []
    t.ok(addresses.includes(host + address), `${name} has ${host}${address}`)
    const headers = { 'X-Forwarded-Host': new URL(host).host, 'X-Forwarded-Proto': 'https' }
    t.match((await service.call('GET', path, { headers })).body, body, `${name} ${address}`)
  }
})
