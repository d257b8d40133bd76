import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'
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
