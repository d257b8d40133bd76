// config/gitolite.md, line by line, with a real gitolite.
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { CommandPlace, executable } from './fixtures/command.js'
import { fetchJson } from './fixtures/embedded.js'
import { environment, git, makeCommit } from './fixtures/git.js'
import { Gitolite, gitoliteIsMissing } from './fixtures/gitolite.js'
import { isNotRoot } from './fixtures/nobody.js'
import { chapter, codeBlocks } from './fixtures/page.js'
import { servesSsh, URL_OF_PEOPLE } from './fixtures/ssh-commands.js'
import { makeSudo } from './fixtures/sudo.js'
import { until } from './fixtures/within.js'

const rights = chapter('config/gitolite.md', '## Rights')
const ssh = chapter('config/gitolite.md', '## Signing in and tokens over ssh')
const gate = chapter('config/gitolite.md', '## Nothing red on main')
const [rules = ''] = codeBlocks(rights, 'gitolite')

/** The user of the service: nobody, in the group of gitolite's files. */
const OF_THE_SERVICE = ['setpriv', '--reuid=65534', '--regid=65534', `--groups=${process.getgid?.() ?? 0}`]

async function installed(t: Test) {
  const place = new CommandPlace(t.testdir())
  // Not below the checkout, which others may not enter.
  const home = mkdtempSync(join(tmpdir(), 'gitolite-'))
  t.teardown(() => {
    rmSync(home, { recursive: true })
  })
  const gitolite = new Gitolite(home, '')
  const settings = join(place.folder, 'settings.json')
  const here = (text: string): string =>
    text
      .replaceAll('/var/lib/gitolite3', home)
      .replaceAll('/opt/commit-status/scripts/commit-status', executable)
      .replaceAll('/etc/commit-status/settings.json', settings)
      .replaceAll('install -o gitolite3 ', 'install ')
      .replaceAll('runuser -u gitolite3 -- ', '')
  const [given = '', ofPeople = ''] = [...codeBlocks(rights, 'json'), ...codeBlocks(ssh, 'json')]
  const { rights: asked, ...more } = JSON.parse(here(given)) as { rights: { command: string[] } }
  const command = [...OF_THE_SERVICE, ...asked.command]
  const all = { ...more, ...(JSON.parse(ofPeople) as object), rights: { command, seconds: 1 } }
  writeFileSync(settings, JSON.stringify({ ...all, store: `level:${place.store}`, port: 0 }))
  const path = makeSudo(place.folder, here(codeBlocks(ssh, 'sudoers').join('')))
  const [programs = ''] = path.split(delimiter)
  writeFileSync(join(programs, 'usermod'), '#!/bin/sh\n[ "$*" = "--append --groups gitolite3 commit-status" ]\n')
  writeFileSync(join(programs, 'commit-status'), `#!/bin/sh\nexec ${executable} "$@"\n`)
  for (const name of ['usermod', 'commit-status']) chmodSync(join(programs, name), 0o755)
  const variables = { PATH: `${path}:${process.env['PATH']}`, COMMIT_STATUS_CONFIG: settings }
  /** A block of the page, as root pastes it. */
  const paste = async (block: string): Promise<string> => {
    const all = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
    return (await promisify(execFile)('env', ['-i', ...all, 'bash', '-euo', 'pipefail', '-c', here(block)])).stdout
  }
  await paste(codeBlocks(rights, 'sh')[0] ?? '')
  gitolite.allow(rules)
  const service = await place.serve(t, {
    environment: { ...variables, COMMIT_STATUS_REPOSITORIES: undefined, COMMIT_STATUS_STORE: undefined },
  })
  /** What somebody runs over ssh. */
  const over = async (user: string, line: string) =>
    await place.run([], {
      program: [
        'env',
        '-i',
        ...[`PATH=${path}`, `HOME=${home}`, `SSH_ORIGINAL_COMMAND=${line}`, 'SSH_CONNECTION=127.0.0.1 1 127.0.0.1 2'],
        ...['/usr/share/gitolite3/gitolite-shell', user],
      ],
    })
  const tokenOf = async (user: string) =>
    (await paste(`commit-status token create ${user}`)).trimEnd().split('\n').at(-1)
  return { place, home, gitolite, service, here, paste, over, tokenOf, path }
}

/** What somebody gets for a report, and for a list. */
async function answers(url: string, repository: string, sha: string, token?: string): Promise<number[]> {
  const at = `${url}/api/v1/repos/${repository}`
  const as = token === undefined ? {} : { token }
  const report = { method: 'POST', body: { state: 'success', context: 'build' }, ...as }
  const statuses = [
    (await fetchJson(`${at}/statuses/${sha}`, report)).status,
    (await fetchJson(`${at}/commits/${sha}/statuses`, as)).status,
  ]
  return statuses
}

t.test('Who may do what is what gitolite says', { skip: gitoliteIsMissing || isNotRoot }, async (t) => {
  const { home, gitolite, service, paste, over, tokenOf } = await installed(t)
  const denying = (name: string, option: string) => `\nrepo team/${name}\n${option}    - = bob\n    RW+ = @team\n`
  const others = '\nrepo testing\n    RW+ = @all\n\nrepo flat team/sub/deep\n    RW = ci\n    R = gate\n'
  gitolite.allow(rules + denying('ajar', '') + denying('closed', '    option deny-rules = 1\n') + others)
  t.match(service.line, `serving http`)
  t.equal((await over('alice', "git-upload-pack '/sandbox/tool'")).stdout.length > 0, true, 'alice has made it')
  t.match(await over('alice', 'perms sandbox/tool + READERS eve'), { status: 0 })
  const rows: [repository: string, rights: Record<string, number[]>][] = [
    ['team/hello', { alice: [201, 200], bob: [201, 200], ci: [201, 200], gate: [403, 200], eve: [404, 404] }],
    ['team/open', { alice: [201, 200], bob: [201, 200], ci: [403, 200], eve: [403, 200] }],
    ['sandbox/tool', { alice: [201, 200], bob: [404, 404], eve: [403, 200] }],
    ['team/ajar', { alice: [201, 200], bob: [201, 200] }],
    ['team/closed', { alice: [201, 200], bob: [404, 404] }],
    ['git/testing', { alice: [201, 200], eve: [201, 200] }],
    ['git/flat', { ci: [201, 200], gate: [403, 200], eve: [404, 404] }],
    ['team/sub%2Fdeep', { ci: [201, 200], gate: [403, 200], eve: [404, 404] }],
    ['git/gitolite-admin', { alice: [404, 404] }],
    ['team/missing', { alice: [404, 404], eve: [404, 404] }],
    ['git/missing', { alice: [404, 404] }],
  ]
  const placeOf = (repository: string) =>
    join(home, 'repositories', `${repository.replace(/^git\//, '').replace('%2F', '/')}.git`)
  const users = ['alice', 'bob', 'ci', 'gate', 'eve']
  const tokens = new Map(await Promise.all(users.map(async (user) => [user, await tokenOf(user)] as const)))
  const shas = new Map<string, string>()
  for (const [repository, expected] of rows) {
    const sha = repository.endsWith('/missing') ? '0'.repeat(40) : await makeCommit(placeOf(repository))
    shas.set(repository, sha)
    for (const [user, statuses] of Object.entries(expected))
      t.strictSame(await answers(service.url, repository, sha, tokens.get(user)), statuses, `${user} on ${repository}`)
  }
  const anonymous = async (repository: string) => await answers(service.url, repository, shas.get(repository) ?? '')
  t.strictSame(
    [await anonymous('team/open'), await anonymous('team/hello')],
    [
      [401, 200],
      [401, 401],
    ],
  )
  t.equal(await paste(codeBlocks(rights, 'sh')[1] ?? ''), 'write by the git server\n  R  refs/.*\n  W  refs/.*\n')
  t.equal(
    await paste('commit-status access check eve team/hello'),
    'none\n  R  R any team/hello eve DENIED by fallthru\n  W  W any team/hello eve DENIED by fallthru\n',
  )

  gitolite.allow(rules.replace('    RW  = ci\n', '').replace('@team = alice bob', '@team = alice'))
  const sha = shas.get('team/hello') ?? ''
  for (const user of ['ci', 'bob'])
    await until(async () => (await answers(service.url, 'team/hello', sha, tokens.get(user))).join() === '404,404')
  t.strictSame(await answers(service.url, 'team/hello', sha, tokens.get('alice')), [201, 200])
  t.notMatch(readFileSync(join(home, '.gitolite/logs', logName()), 'utf8'), '\tgitolite\taccess\t')
})

t.test('Its commands over ssh are for the user of the key', { skip: gitoliteIsMissing || isNotRoot }, async (t) => {
  const { service, paste, over } = await installed(t)
  const [setUp = ''] = codeBlocks(ssh, 'sh')
  await paste(setUp)
  t.match(ssh, URL_OF_PEOPLE)
  await servesSsh(t, service, async (command) => await over('alice', command))
  for (const other of ['serve', 'sign-in bob; id', 'token bob; id']) t.match(await over('alice', other), { stdout: '' })
})

t.test('Nothing red reaches main, by a VREF', { skip: gitoliteIsMissing || isNotRoot }, async (t) => {
  const { place, gitolite, service, paste, tokenOf, home, path } = await installed(t)
  const [setUp = ''] = codeBlocks(ssh, 'sh')
  const [vref = ''] = codeBlocks(gate, 'sh')
  await paste(setUp)
  await paste(vref.replace('http://127.0.0.1:8080', service.url))
  gitolite.allow(`${rules}\n${codeBlocks(gate, 'gitolite').join('')}`)
  const [checkout, shell] = [join(place.folder, 'checkout'), join(place.folder, 'ssh')]
  const client = [
    '#!/bin/sh',
    'shift',
    `exec env -i PATH=${path}:${process.env['PATH']} HOME=${home} SSH_ORIGINAL_COMMAND="$*" \\`,
    '  SSH_CONNECTION="127.0.0.1 1 127.0.0.1 2" /usr/share/gitolite3/gitolite-shell alice',
  ]
  writeFileSync(shell, `${client.join('\n')}\n`, { mode: 0o755 })
  await git('init', '--quiet', '--initial-branch=main', checkout)
  await git('-C', checkout, 'commit', '--quiet', '--allow-empty', '-m', 'a fix')
  const sha = await git('-C', checkout, 'rev-parse', 'HEAD')
  const push = async (ref: string) =>
    await promisify(execFile)('git', ['-C', checkout, 'push', '--quiet', 'git@host:team/hello', `HEAD:${ref}`], {
      env: { ...environment, GIT_SSH: shell, GIT_SSH_VARIANT: 'simple' },
    }).then(
      () => 'pushed',
      (error: unknown) => String(error),
    )
  t.equal(await push('refs/heads/free'), 'pushed')
  t.match(await push('refs/heads/main'), /commit-status: refs\/heads\/main needs build, by ci/)
  t.match(await answers(service.url, 'team/hello', sha, await tokenOf('alice')), [201, 200])
  t.match(await push('refs/heads/main'), /was reported last by alice, not by ci|pending/)
  t.match(await answers(service.url, 'team/hello', sha, await tokenOf('ci')), [201, 200])
  t.equal(await push('refs/heads/main'), 'pushed')
})

function logName(): string {
  const now = new Date()
  return `gitolite-${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, '0')}.log`
}
