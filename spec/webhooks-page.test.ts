// config/webhooks.md, with the programs that it names.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { signatureHeaders } from '../lib/webhooks/signatures.js'
import { CommandPlace, executable } from './fixtures/command.js'
import { freePort } from './fixtures/free-port.js'
import { environment, git, makeCommit, makeRepositoryWithCommit } from './fixtures/git.js'
import { chapter, codeBlocks, pageText } from './fixtures/page.js'
import { missing } from './fixtures/program.js'
import { PushedRepository } from './fixtures/pushed-repository.js'
import { until } from './fixtures/within.js'

const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZg=='
const [noWebhook, noPython] = [await missing('webhook'), await missing('python3')]

const program = chapter('config/webhooks.md', '## A program')
const bot = chapter('config/webhooks.md', '## A merge bot')
const pushes = chapter('config/webhooks.md', '## Pushes')
const checks = chapter('config/webhooks.md', '## What a receiver must check')

const signed = (secret: string, body: Buffer) =>
  signatureHeaders({ current: secret }, 'd1', Math.floor(Date.now() / 1000), body)

t.test("Debian's webhook runs the command of the page for what is signed", { skip: noWebhook }, async (t) => {
  const folder = t.testdir()
  const [port, out, told] = [await freePort(), join(folder, 'out'), join(folder, 'told')]
  const [configuration = ''] = codeBlocks(program, 'json')
  writeFileSync(told, `#!/bin/sh\necho "$@" > '${out}.new' && mv '${out}.new' '${out}'\n`, { mode: 0o755 })
  const here = configuration.replace('/usr/local/bin/told', told).replace('THE-SECRET', SECRET)
  writeFileSync(join(folder, 'webhook.conf'), here)
  const args = ['-hooks', join(folder, 'webhook.conf'), '-ip', '127.0.0.1', '-port', String(port)]
  const child = spawn('webhook', args, { stdio: 'ignore' })
  t.teardown(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const [, path = ''] = /http:\/\/127\.0\.0\.1:9000(\S+)/.exec(codeBlocks(program, 'sh')[0] ?? '') ?? []
  const body = Buffer.from(
    JSON.stringify({
      repository: { full_name: 'alice/hello' },
      sha: 'abc',
      context: 'ci/test',
      state: 'success',
      branches: [{ name: 'main' }],
    }),
  )
  const post = async (secret: string) =>
    await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...signed(secret, body) },
      body,
    }).then(
      ({ status }) => status,
      () => 0,
    )
  let status = 0
  await until(async () => (status = await post('another secret')) !== 0)
  t.ok(status >= 400)
  t.notOk(existsSync(out))
  t.equal(await post(SECRET), 200)
  await until(() => existsSync(out))
  t.equal(readFileSync(out, 'utf8'), 'alice/hello abc ci/test success main\n')
})

t.test('The check of the page takes what is signed, and nothing else', { skip: noPython }, async (t) => {
  const [check = ''] = codeBlocks(checks, 'python')
  const body = Buffer.from('{"description": "Grüße"}')
  const isGenuine = async (headers: Readonly<Record<string, string>>) => {
    const call = 'import json, sys\nsecret, body, headers = json.loads(sys.argv[1])\n'
    const script = `${check}\n${call}print(is_genuine(secret, body.encode(), headers))`
    const argument = JSON.stringify([SECRET, body.toString(), headers])
    return (await promisify(execFile)('python3', ['-c', script, argument])).stdout.trim()
  }
  t.equal(await isGenuine(signed(SECRET, body)), 'True')
  t.equal(await isGenuine(signed('another secret', body)), 'False')
  t.equal(await isGenuine(signed(SECRET, Buffer.from('{}'))), 'False')
  t.equal(await isGenuine({}), 'False')
})

t.test('The merge bot of the page moves main to what has succeeded in the queue', async (t) => {
  const folder = t.testdir()
  const { directory, sha } = await makeRepositoryWithCommit(folder, 'alice/hello')
  await git('-C', directory, 'branch', 'queue/1', sha)
  const child = await makeCommit(directory, 'more', 'queue/1')
  const [script = ''] = codeBlocks(bot, 'sh')
  const told = join(folder, 'told')
  writeFileSync(told, script.replace('/srv/git', folder), { mode: 0o755 })
  const run = async (...args: string[]) => await promisify(execFile)(told, args, { env: environment })
  const main = async () => await git('-C', directory, 'rev-parse', 'main')
  await run('alice/hello', child, 'ci/test', 'failure', 'queue/1')
  await run('alice/hello', child, 'ci/test', 'success', 'main')
  t.equal(await main(), sha)
  await run('alice/hello', child, 'ci/test', 'success', 'queue/1')
  t.equal(await main(), child)
})

t.test('From a push to a gate that opens, as the page says', { skip: noWebhook }, async (t) => {
  const pushed = await PushedRepository.make(t)
  const { place, directory, settings, url } = pushed
  const [etc, port] = [join(place.folder, 'etc'), await freePort()]
  mkdirSync(etc)
  const token = await place.tokenOf('alice')
  writeFileSync(join(etc, 'ci.token'), token)
  const [hook = '', check = '', chained = ''] = codeBlocks(pushes, 'sh')
  const [configuration = ''] = codeBlocks(pushes, 'json')
  const here = (text: string) =>
    text
      .replaceAll('/srv/git', place.repositories)
      .replaceAll('/etc/commit-status', etc)
      .replaceAll('/usr/local/bin', place.folder)
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('http://127.0.0.1:9000', `http://127.0.0.1:${port}`)
      .replaceAll(/(?<=^|exec |\| )commit-status (?=hook|pushed|status)/gm, `${executable} --config ${settings} `)
  const made = await pushed.run(here(hook))
  t.equal(made.status, 0)
  const [, secret = ''] = /^(whsec_\S+)$/m.exec(made.stdout) ?? []
  writeFileSync(join(place.folder, 'check'), here(check), { mode: 0o755 })
  writeFileSync(join(etc, 'webhook.conf'), here(configuration).replace('THE-SECRET', secret))
  const words = ['-hooks', join(etc, 'webhook.conf'), '-ip', '127.0.0.1', '-port', String(port)]
  // By `env`, since tap puts into every environment what its own processes need.
  const variables = Object.entries({ ...environment, HOME: place.folder, COMMIT_STATUS_CONFIG: '' })
  const receiver = spawn('env', ['-i', ...variables.map(([name, value]) => `${name}=${value}`), 'webhook', ...words], {
    stdio: 'ignore',
  })
  t.teardown(async () => {
    const ended = once(receiver, 'exit')
    receiver.kill('SIGKILL')
    await ended
  })
  await until(
    async () =>
      await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
  )
  writeFileSync(join(directory, 'hooks/pre-receive'), `#!/bin/sh\nexec ${executable} gate\n`, { mode: 0o755 })
  writeFileSync(join(etc, 'gate.token'), token)
  for (const [key, value] of [
    ['url', url],
    ['tokenFile', join(etc, 'gate.token')],
    ['repositories', place.repositories],
    ['refs/heads/main.require', 'build'],
  ])
    await git('-C', directory, 'config', `commit-status.${key}`, String(value))
  const stateOf = async (sha: string) => {
    const address = `${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${token}` } })
    return ((await answer.json()) as { state: string }).state
  }
  const push = async (lines: string) => {
    const commit = `${lines}; git add .; git commit --quiet -m x; git rev-parse HEAD; git push --quiet origin HEAD:wip`
    const { stdout, stderr } = await pushed.run(commit)
    t.equal(stderr, '')
    await until(async () => ['success', 'failure'].includes(await stateOf(stdout.trim())))
    return { state: await stateOf(stdout.trim()), ...(await pushed.run('git push --quiet origin HEAD:main')) }
  }
  const red = await push("echo 'test -f good' > check.sh")
  t.match(red, { state: 'failure', status: 1, stderr: /refs\/heads\/main needs build\s+remote: +build  failure/ })
  t.match(await push('touch good'), { state: 'success', status: 0, stderr: '' })
  t.equal(await git('-C', directory, 'rev-parse', 'main'), await git('-C', directory, 'rev-parse', 'wip'))

  writeFileSync(join(place.folder, 'another-hook'), '#!/bin/sh\ncat > another\n', { mode: 0o755 })
  pushed.hook(here(chained))
  const { stdout } = await pushed.run('git push --quiet origin HEAD:other; git rev-parse HEAD')
  const id = stdout.trim()
  t.equal(readFileSync(join(directory, 'another'), 'utf8'), `${'0'.repeat(40)} ${id} refs/heads/other\n`)
  t.strictSame(pushed.waiting(), [], 'and the service has it')
})

t.test('Each command of the page makes a webhook', async (t) => {
  const place = new CommandPlace(t.testdir())
  const [mail = ''] = codeBlocks(chapter('config/webhooks.md', '## Mail'), 'json')
  const [allow = ''] = codeBlocks(chapter('config/webhooks.md', '## Where it may go'), 'json')
  const settings = join(place.folder, 'settings.json')
  const { hooks, ...rest } = { ...(JSON.parse(mail) as object), ...(JSON.parse(allow) as { hooks: object }) }
  writeFileSync(settings, JSON.stringify({ ...rest, hooks: { ...hooks, secretFile: 'hooks.secret' } }))
  const options = { environment: { COMMIT_STATUS_CONFIG: settings } }
  const lines = codeBlocks(pageText('config/webhooks.md'), 'sh')
    .flatMap((block) => block.split('\n'))
    .filter((line) => line.startsWith('commit-status hook create '))
  t.ok(lines.length >= 5)
  for (const line of lines) {
    const words = (await promisify(execFile)('sh', ['-c', `printf '%s\\n' ${line}`])).stdout.trimEnd().split('\n')
    const { status, stdout, stderr } = await place.run(words.slice(1), options)
    t.strictSame([status, stderr], [0, ''], line)
    t.match(stdout, /^Hook \w+ on .* Its secret is shown this once:\nwhsec_\S+\n$/)
  }
  const { stdout } = await place.run(['hook', 'list', '--json'], options)
  t.equal(stdout.trimEnd().split('\n').length, lines.length)
  t.notMatch(stdout, /abc123|TOKEN|whsec_/)
})
