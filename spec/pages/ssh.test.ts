import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'
import { Gitolite } from '../fixtures/gitolite.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { visit } from '../fixtures/visit.js'

const script = fileURLToPath(new URL('../../config/ssh-command.sh', import.meta.url))

t.test('Who has only ssh gets a link and a token for the user of the key, and nothing else', async (t) => {
  const place = new CommandPlace(t.testdir())
  const service = await place.serve(t)
  const ssh = async (command: string) =>
    await place.run([], {
      program: ['sh', script, 'alice'],
      environment: { SSH_ORIGINAL_COMMAND: command, COMMIT_STATUS: executable },
    })
  const link = (await ssh('sign-in')).stdout.trim()
  t.match(link, `${service.url}/sign-in?code=`)
  t.match((await visit(service, link)).text, 'Sign in as alice?')
  t.match((await ssh('token')).stdout, /\ncst_[0-9a-f]{48}\n$/)
  for (const other of ['sign-in bob', 'token create bob', 'sign-in; id', '$(id)', 'serve', ''])
    t.not((await ssh(other)).status, 0, other)
})

const withoutGitolite = Gitolite.isInstalled() ? false : 'gitolite3 is not installed'
t.test('As commands of gitolite they are for the user of the key too', { skip: withoutGitolite }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const service = await place.serve(t)
  const home = join(place.folder, 'gitolite')
  const commands = join(home, 'local/commands')
  mkdirSync(commands, { recursive: true })
  new Gitolite(home, '')
  const [script = ''] = codeBlocks(chapter('config/pages.md', '## For people who have only ssh'), 'sh').slice(-1)
  const [sudo, program] = ['sudo -n -u commit-status', '/opt/commit-status/scripts/commit-status']
  const variables = `COMMIT_STATUS_STORE=level:${place.store} COMMIT_STATUS_REPOSITORIES=${place.repositories}`
  const here = script.replace(`${sudo} ${program}`, `env ${variables} ${executable}`)
  t.not(here, script)
  const token = here.replace('sign-in "$GL_USER"', 'token create "$GL_USER" --name ssh --expires 90d')
  for (const [name, text] of Object.entries({ 'sign-in': here, token }))
    writeFileSync(join(commands, name), text, { mode: 0o755 })
  const rc = join(home, '.gitolite.rc')
  const settings = readFileSync(rc, 'utf8')
    .replace('%RC = (', `%RC = ( LOCAL_CODE => "${home}/local",`)
    .replace(/ENABLE => \[/, "ENABLE => [ 'sign-in', 'token',")
  writeFileSync(rc, settings)
  const ssh = async (command: string) =>
    await place.run([], {
      program: ['/usr/share/gitolite3/gitolite-shell', 'alice'],
      environment: { HOME: home, SSH_ORIGINAL_COMMAND: command, SSH_CONNECTION: '127.0.0.1 1 127.0.0.1 2' },
    })
  const link = (await ssh('sign-in')).stdout.trim()
  t.match(link, `${service.url}/sign-in?code=`)
  t.match((await visit(service, link)).text, 'Sign in as alice?')
  t.match((await ssh('token')).stdout, /\ncst_[0-9a-f]{48}\n$/)
  t.not((await ssh('serve')).status, 0)
})

t.test('The command prints a link for the address that is given, and ends sessions', async (t) => {
  const place = new CommandPlace(t.testdir())
  await place.serve(t)
  const run = async (...args: string[]) => (await place.run(['sign-in', 'alice', ...args])).stdout
  const elsewhere = await run('--url', 'https://status.example.com')
  t.match(elsewhere, /^https:\/\/status\.example\.com\/sign-in\?code=[\w-]{32}\n$/)
  t.match(JSON.parse(await run('--json')), { expires_at: /Z$/, url: /^http/ })
  t.equal(await run('--end'), 'ended 2 sessions and links of alice\n')
  t.equal(await run('--end', '--json'), '{"ended":0}\n')
})

t.test('Without a running service there is nothing to sign in to', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { status, stderr } = await place.run(['sign-in', 'alice'])
  t.equal(status, 1)
  t.match(stderr, /nobody signs in by links here/)
})
