import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { SshServer, sshServerIsMissing } from '../fixtures/ssh-server.js'
import { makeSudo } from '../fixtures/sudo.js'
import { servesSsh, URL_OF_PEOPLE } from '../fixtures/ssh-commands.js'

const PAGE = chapter('config/pages.md', '## For people who have only ssh')

/**
 * A service that has its settings from a file alone, as the unit gives it, and a sudo that runs what the page allows,
 * and nothing of the environment.
 */
async function installed(t: Test) {
  const place = new CommandPlace(t.testdir())
  const { folder, repositories, store } = place
  const settings = join(folder, 'settings.json')
  writeFileSync(settings, JSON.stringify({ repositories, store: `level:${store}`, publicUrl: URL_OF_PEOPLE }))
  const service = await place.serve(t, { environment: { COMMIT_STATUS_CONFIG: settings } })
  const here = (text: string): string =>
    text
      .replaceAll('/opt/commit-status/scripts/commit-status', executable)
      .replaceAll('/etc/commit-status/settings.json', settings)
  const [sudoers = ''] = codeBlocks(PAGE, 'sudoers')
  const path = makeSudo(folder, here(sudoers))
  return {
    place,
    service,
    here,
    path,
    ssh: async (environment: Record<string, string>, program: readonly string[]) =>
      await place.run([], {
        program: [
          'env',
          '-i',
          `PATH=${path}`,
          ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
          ...program,
        ],
      }),
  }
}

t.test('Who has only ssh gets a link and a token for the user of the key, and nothing else', async (t) => {
  const { place, service, here, ssh } = await installed(t)
  const [, file = '', user = ''] = /command="\/opt\/commit-status\/(\S+) (\S+)"/.exec(PAGE) ?? []
  const script = join(place.folder, 'ssh-command.sh')
  writeFileSync(script, here(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')), { mode: 0o755 })
  const run = async (command: string) => await ssh({ SSH_ORIGINAL_COMMAND: command }, [script, user])
  await servesSsh(t, service, run)
  for (const other of ['sign-in bob', 'token create bob', 'sign-in; id', '$(id)', 'serve'])
    t.not((await run(other)).status, 0, other)
})

for (const shell of ['/bin/sh', '/usr/bin/git-shell'])
  t.test(`A real sshd runs the recipe with the login shell ${shell}`, { skip: sshServerIsMissing }, async (t) => {
    const { place, service, here, path } = await installed(t)
    const folder = join(place.folder, 'ssh')
    mkdirSync(folder)
    const server = new SshServer(folder, { shell, path })
    const script = join(place.folder, 'ssh-command.sh')
    const at = (text: string) => text.replaceAll('/opt/commit-status/config/ssh-command.sh', script)
    writeFileSync(script, here(readFileSync(new URL('../../config/ssh-command.sh', import.meta.url), 'utf8')), {
      mode: 0o755,
    })
    const [ofShell = '', ofGitShell = ''] = codeBlocks(PAGE, 'authorized_keys')
    if (shell === '/bin/sh') server.authorize(at(ofShell))
    else {
      const [set = '', ...more] = codeBlocks(PAGE, 'sh')
      t.match([set, more.length], [/git-shell-commands/, 0])
      await place.run(['-euc', at(set).replaceAll('~git', server.home)], { program: ['sh'] })
      server.authorize(ofGitShell)
    }
    const ssh = async (...command: string[]) =>
      await place.run(command, { program: [...server.client, 'git@git.example.com'] })
    await servesSsh(t, service, ssh)
    t.match(await ssh(), { status: 0, stdout: /^hello alice\n.*sign-in .*token /s, stderr: '' })
    for (const other of ['sign-in bob', 'ssh-command bob', `${script} bob`, 'serve', 'id', 'git-upload-pack; id'])
      t.match(await ssh(other), { status: /^(1|128)$/, stdout: '' }, other)

    const { directory, sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const environment = { GIT_SSH_COMMAND: server.client.join(' ') }
    const run = async (...args: string[]) => {
      const { status, stderr } = await place.run(args, { environment, program: ['git'] })
      t.equal(status, 0, stderr)
    }
    const clone = join(place.folder, 'clone')
    await run('clone', `git@git.example.com:${directory}`, clone)
    await run('-C', clone, 'push', 'origin', `${sha}:refs/heads/next`)
    t.equal(await git('-C', directory, 'rev-parse', 'next'), sha)
  })

t.test('The command prints a link for the address that is given, and ends sessions', async (t) => {
  const place = new CommandPlace(t.testdir())
  await place.serve(t)
  const run = async (...args: string[]) => (await place.run(['sign-in', 'alice', ...args])).stdout
  const elsewhere = await run('--url', 'https://status.example.com')
  t.match(elsewhere, /^https:\/\/status\.example\.com\/sign-in\?code=[\w-]{32}\n$/)
  const below = await run('--url', 'https://ci.example.com/status')
  t.match(below, /^https:\/\/ci\.example\.com\/status\/sign-in\?code=[\w-]{32}\n$/)
  t.match(JSON.parse(await run('--json')), { expires_at: /Z$/, url: /^http/ })
  t.equal(await run('--end'), 'ended 3 sessions and links of alice\n')
  t.equal(await run('--end', '--json'), '{"ended":0}\n')
})

t.test('An address that is given takes the place of publicUrl, its path included', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_PUBLIC_URL: 'https://ci.example.com/status' }
  await place.serve(t, { environment })
  for (const url of ['https://ci.example.com/status', 'https://ci.example.com/status/', 'https://other.example.com']) {
    const { stdout } = await place.run(['sign-in', 'alice', '--url', url], { environment })
    t.match(stdout, `${url.replace(/\/$/, '')}/sign-in?code=`)
  }
})

t.test('Without a running service there is nothing to sign in to', async (t) => {
  const place = new CommandPlace(t.testdir())
  await place.tokenOf('alice')
  const { status, stderr } = await place.run(['sign-in', 'alice'])
  t.equal(status, 1)
  t.match(stderr, /nobody signs in by links here/)
})
