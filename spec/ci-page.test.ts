import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { clients } from './clients/clients.js'
import { listen } from './fixtures/embedded.js'
import { makeRepositoryWithCommit } from './fixtures/git.js'
import { chapter, codeBlocks, pageTable } from './fixtures/page.js'
import { missing } from './fixtures/program.js'
import { hostCommit } from './fixtures/hosted-commit.js'

const HOST = 'https://status.example.com'

const PAGE = 'config/ci.md'

/** How a pipeline has ended. */
type End = 'success' | 'failure'

/** What each CI gives a step. */
const given = (sha: string, end: End): Record<string, string> => ({
  REPOSITORY: 'alice/hello',
  SHA: sha,
  GITHUB_REPOSITORY: 'alice/hello',
  GITHUB_SHA: sha,
  CI_PROJECT_PATH: 'alice/hello',
  CI_REPO: 'alice/hello',
  CI_COMMIT_SHA: sha,
  CI_PIPELINE_STATUS: end,
  DRONE_REPO: 'alice/hello',
  DRONE_COMMIT_SHA: sha,
  DRONE_BUILD_STATUS: end,
})

/** What a CI makes of its file on the page: a script of shell, and more in its environment. */
interface Step {
  readonly script: string
  readonly environment?: Record<string, string>
}

interface Job {
  readonly extends?: string
  readonly when?: string
  readonly variables?: Record<string, string>
  readonly script?: unknown
}

/** A list of commands is one of texts: where YAML makes something else of a line, CI systems refuse the file. */
function scriptOf(lines: unknown): string {
  if (typeof lines === 'string') return lines
  if (!Array.isArray(lines)) throw new Error(`no script: ${JSON.stringify(lines)}`)
  return lines
    .map((line: unknown) => {
      if (typeof line !== 'string') throw new Error(`no command: ${JSON.stringify(line)}`)
      return line
    })
    .join('\n')
}

const fileOf = <T>(chapterOf: string): T => {
  const [file = ''] = codeBlocks(chapter(PAGE, `## ${chapterOf}`), 'yaml')
  return parse(file) as T
}

const steps: Record<string, { context: string; ends: readonly End[]; step: (end: End, sha: string) => Step }> = {
  curl: {
    context: 'build',
    ends: ['success'],
    step: () => ({ script: codeBlocks(chapter(PAGE, '## curl'), 'sh').join('') }),
  },
  'GitHub Actions and act': {
    context: 'build',
    ends: ['success', 'failure'],
    step: (end) => {
      const file = fileOf<{ on: string; jobs: { build: { steps: { uses?: string; run?: string; if?: string }[] } } }>(
        'GitHub Actions and act',
      )
      const [checkout, make, report] = file.jobs.build.steps
      if (file.on !== 'push' || !checkout?.uses || make?.run !== 'make test' || report?.if !== 'always()')
        throw new Error('it is no workflow')
      // The expression is GitHub's to work out.
      return { script: scriptOf(report.run), environment: { STATE: end } }
    },
  },
  'GitLab CI': {
    context: 'build',
    ends: ['success', 'failure'],
    step: (end) => {
      const { '.report': base, ...jobs } = fileOf<Record<string, Job>>('GitLab CI')
      const when = { success: 'on_success', failure: 'on_failure' }[end]
      const [job, ...more] = Object.values(jobs).filter((one) => one.when === when)
      if (job?.extends !== '.report' || more.length > 0) throw new Error(`not one job for ${when}`)
      return { script: scriptOf(base?.script), environment: job.variables ?? {} }
    },
  },
  ...Object.fromEntries(
    ['Woodpecker', 'Drone'].map((name) => [
      name,
      {
        context: name.toLowerCase(),
        ends: ['success', 'failure'] as const,
        step: () => {
          const [step] = fileOf<{ steps: { commands: unknown }[] }>(name).steps
          return { script: scriptOf(step?.commands) }
        },
      },
    ]),
  ),
  Tekton: {
    context: 'tekton',
    ends: ['success', 'failure'],
    step: (end, sha) => {
      const [step] = fileOf<{ spec: { steps: { script: string }[] } }>('Tekton').spec.steps
      const parameters = { repository: 'alice/hello', sha, state: end }
      return {
        script: Object.entries(parameters).reduce(
          (script, [key, value]) => script.replaceAll(`$(params.${key})`, value),
          scriptOf(step?.script),
        ),
      }
    },
  },
}

const noCurl = await missing('curl')

for (const [name, { context, ends, step }] of Object.entries(steps)) {
  t.test(`What the page has for ${name} reports how it ended, as it is pasted`, { skip: noCurl }, async (t) => {
    const { service, sha, token, stored } = await hostCommit(t, { private: true })
    for (const end of ends) {
      const { script, environment } = step(end, sha)
      await promisify(execFile)('bash', ['-euc', script.replace(HOST, service.url)], {
        env: { PATH: process.env['PATH'], STATUS_TOKEN: token, ...given(sha, end), ...environment },
      })
      t.match(await stored(), [{ context, state: end, sha }])
    }
  })
}

t.test('What the page has for commit-status-report reports how a command ends', { skip: noCurl }, async (t) => {
  const { service, sha, token, stored } = await hostCommit(t, { private: true })
  const lines = codeBlocks(chapter(PAGE, '## commit-status-report'), 'sh').join('')
  const client = fileURLToPath(new URL('../config/commit-status-report', import.meta.url))
  const script = lines.replace(HOST, service.url).replace('commit-status-report run', `${client} run`)
  for (const [make, state] of [
    ['true', 'success'],
    ['! true', 'failure'],
  ] as const) {
    const job = script.replace('make test', `sh -c '${make}'`)
    const env = { PATH: process.env['PATH'], STATUS_TOKEN: token, ...given(sha, 'success') }
    const ended = promisify(execFile)('bash', ['-euc', job], { env })
    if (state === 'success') await ended
    else await t.rejects(ended, { code: 1 })
    t.match(await stored(), [{ context: 'test', state, sha }])
  }
})

t.test("In deeper folders, GitLab's subgroups for one, a repository is one part", { skip: noCurl }, async (t) => {
  const { service } = await hostCommit(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/sub/deep')
  const variables = { STATUS_TOKEN: await service.tokenOf('alice'), ...given(sha, 'success') }
  const [, name = ''] = /`REPOSITORY=team\/(\S+)`/.exec(chapter(PAGE, '## curl')) ?? []
  const deeper = { CI_PROJECT_PATH: 'alice/sub/deep', REPOSITORY: `alice/${name}` }
  for (const at of ['curl', 'GitLab CI'])
    t.match(
      await runStep(steps[at]?.step('success', sha) ?? { script: '' }, service.url, { ...variables, ...deeper }),
      {
        code: 0,
        stdout: '"success"',
      },
    )
})

/** Runs what the page has, against another address, and returns how it ended. */
async function runStep({ script, environment }: Step, url: string, variables: Record<string, string>) {
  const env = { PATH: process.env['PATH'], ...variables, ...environment }
  return await new Promise((resolve) => {
    execFile('bash', ['-euc', script.replace(HOST, url)], { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr })
    })
  })
}

t.test('Every block with curl shows why it is refused, and tries again what passes', { skip: noCurl }, async (t) => {
  const { service, sha, token } = await hostCommit(t, { private: true })
  const seen: number[] = []
  // Restarts at each first request: as nginx answers for it then.
  const url = await listen(t, (request, response) => {
    void (async () => {
      const body = await buffer(request)
      const first = seen.length === 0
      const headers = Object.entries(request.headers).filter(([name]) => /^(?:auth|private|content-type)/.test(name))
      const answer = first
        ? new Response('restarting', { status: 502 })
        : await fetch(service.url + String(request.url), {
            method: 'POST',
            headers: headers as [string, string][],
            body,
          })
      seen.push(answer.status)
      response.writeHead(answer.status).end(await answer.text())
    })()
  })
  for (const [name, { step }] of Object.entries(steps)) {
    seen.length = 0
    t.match(await runStep(step('success', sha), url, { STATUS_TOKEN: token, ...given(sha, 'success') }), { code: 0 })
    t.strictSame(seen, [502, 201], name)
    seen[0] = 0
    const variables = { STATUS_TOKEN: 'cst_wrong', ...given(sha, 'success') }
    const refused = await runStep(step('success', sha), url, variables)
    t.match(refused, { code: 22, stdout: /credentials|Unauthorized|expired token/, stderr: '401' }, name)
    t.strictSame(seen, [0, 201, 401], `${name}: a wrong token is not tried again`)
  }
})

const withoutTls = await missing('curl', 'openssl')
t.test('A certificate is tried once, and trusted by what the page says', { skip: withoutTls }, async (t) => {
  const { sha } = await hostCommit(t)
  const folder = t.testdir()
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=localhost']
  const names = ['-addext', 'subjectAltName=DNS:localhost']
  await promisify(execFile)('openssl', ['req', '-x509', ...made, ...names])
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
    response.end('reported')
  })
  let connections = 0
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  const curl = { script: codeBlocks(chapter(PAGE, '## curl'), 'sh').join('') }
  const variables = { STATUS_TOKEN: 'cst_1', ...given(sha, 'success') }
  t.match(await runStep(curl, url, variables), { code: 60 })
  t.equal(connections, 1)
  const [trust = ''] = codeBlocks(chapter(PAGE, '## An internal CA'), 'sh')
  const trusting = trust.replaceAll('/etc/ssl/certs/internal-ca.pem', cert)
  t.match(await runStep({ script: trusting + curl.script }, url, variables), { code: 0, stdout: 'reported' })
  const node = `'${process.execPath}' -e "fetch('${HOST}').then((answer) => answer.text()).then(console.log)"`
  t.match(await runStep({ script: trusting + node }, url, variables), { code: 0, stdout: 'reported' })
})

t.test(
  'The lines of the page for Buildbot are Python, and name the addresses that its reporters take',
  { skip: await missing('python3') },
  async (t) => {
    const [code = ''] = codeBlocks(chapter(PAGE, '## Buildbot'), 'python')
    // Stands for the package, which is not in Debian: it shows what each reporter is made with.
    const stub = `import sys, types, json
made = []
class Reporters:
    def __getattr__(self, name):
        return lambda **given: made.append([name, given['baseURL'], given['token']])
plugins = types.ModuleType('buildbot.plugins')
plugins.reporters = Reporters()
plugins.util = types.SimpleNamespace(Secret=lambda name: 'the secret ' + name)
sys.modules['buildbot'] = types.ModuleType('buildbot')
sys.modules['buildbot.plugins'] = plugins
c = {}
${code}
print(json.dumps(made))`
    const { stdout } = await promisify(execFile)('python3', ['-c', stub])
    t.strictSame(JSON.parse(stdout), [['GitHubStatusPush', `${HOST}/api/v3`, 'the secret status']])
  },
)

t.test('The lines of the page for octokit report, as they are pasted', async (t) => {
  const { service, sha, token, stored } = await hostCommit(t, { private: true })
  const [code = ''] = codeBlocks(chapter(PAGE, '## GitHub Actions and act'), 'js')
  // Below the checkout, where its packages are found.
  const folder = mkdtempSync(join(fileURLToPath(new URL('..', import.meta.url)), '.tap/octokit-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  writeFileSync(join(folder, 'report.mjs'), code.replace(HOST, service.url))
  const environment = { ...given(sha, 'success'), STATUS_TOKEN: token }
  await promisify(execFile)(process.execPath, ['report.mjs'], { cwd: folder, env: environment })
  t.match(await stored(), [{ context: 'build', state: 'success' }])
})

t.test('Every address of the page leads to the API of its chapter', async (t) => {
  const giteaHosts = ['gitea-status.example.com']
  const { service } = await hostCommit(t, { settings: { giteaHosts, trustedProxies: ['127.0.0.1'] } })
  const github = { path: '/api/v3/repos/alice/hello', body: { full_name: 'alice/hello', owner: { login: 'alice' } } }
  const gitlab = { path: '/api/v4/projects/alice%2Fhello', body: { path_with_namespace: 'alice/hello' } }
  const gitea = { path: '/api/v1/version', body: { version: '1.26.0' } }
  const expected: [chapter: string, address: string, { path: string; body: object }][] = [
    ['Jenkins', '/api/v3', github],
    ['Jenkins', '', gitlab],
    ['Buildbot', '/api/v3', github],
    ['Buildbot', '', gitlab],
    ['Buildbot', '/gitea', { path: '/gitea/api/v1/version', body: { version: '1.26.0' } }],
    ['Concourse', '/api/v3', github],
    ['Flux', '/alice/hello', github],
    ['Flux', '/alice/hello', gitea],
    ['TeamCity', '/api/v3', github],
    ['TeamCity', '/api/v4', gitlab],
  ]
  for (const [name, address, { path, body }] of expected) {
    const host = body === gitea.body ? 'https://gitea-status.example.com' : HOST
    const addresses: readonly string[] =
      chapter(PAGE, `## ${name}`).match(/https:\/\/[\w.-]*status\.example\.com[\w./-]*/g) ?? []
    t.ok(addresses.includes(host + address), `${name} has ${host}${address}`)
    const headers = { 'X-Forwarded-Host': new URL(host).host, 'X-Forwarded-Proto': 'https' }
    t.match((await service.call('GET', path, { headers })).body, body, `${name} ${address}`)
  }
})

t.test('The libraries of the page are those that npm run clients runs, made as the page says', async (t) => {
  const rows = pageTable(PAGE, 'library', 'version', 'API', 'address and token')
  t.strictSame(
    rows.map(([library = '', version, api]) => [library.split(' ')[0], version, api]),
    clients.map(({ name, version, api }) => [name, version, api]),
  )
  for (const [index, { name, folder }] of clients.entries()) {
    const codes = Array.from(rows[index]?.[3]?.matchAll(/`([^`]+)`/g) ?? [], ([, code = '']) => code)
    const program = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\bmain\.\w+$/i.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('')
    const plain = (code: string): string => code.replaceAll(/\s/g, '')
    t.ok(
      codes.some((code) => plain(program).includes(plain(code))),
      name,
    )
  }
})
