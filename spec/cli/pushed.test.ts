import { statSync, writeFileSync, chmodSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { executable } from '../fixtures/command.js'
import { PushedRepository, shortPush } from '../fixtures/pushed-repository.js'
import { receiver } from '../fixtures/receiver.js'
import { until } from '../fixtures/within.js'
import { WaitingPushes } from '../../scripts/cli/pushed/waiting-pushes.js'

const me = userInfo().username
const short = (id: string) => id.slice(0, 7)

t.test('What git push does to branches and tags is told, ref by ref, as it was', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url, received } = await receiver(t)
  await pushed.tell(url)
  const one = await pushed.push('main', 'one')
  t.strictSame([one.status, one.stderr], [0, ''])
  const two = await pushed.push('main', 'two')
  const script = (lines: string) => async () => t.match(await pushed.run(lines), { status: 0, stderr: '' })
  await script('git push -q origin HEAD:refs/heads/topic && git tag v1 && git tag -m v2 v2 && git push -q origin v1')()
  await script(`git push -q --force origin ${one.sha}:refs/heads/topic && git push -q origin v2`)()
  await script(`git tag -f v1 ${one.sha} > /dev/null && git push -q --force origin v1 :refs/heads/topic`)()
  await script('git push -q origin HEAD:refs/notes/x :refs/tags/v2')()
  await until(() => received.length >= 9)
  const [a, b] = [short(one.sha), short(two.sha)]
  const told = received.map(({ body }) => shortPush(body))
  const tag = /refs\/tags\/v2 -\.\.([0-9a-f]{7})/.exec(told.join('\n'))?.[1]
  const of = (ref: string) => told.filter((line) => line.startsWith(ref))
  t.strictSame(of('refs/heads/main'), [
    `refs/heads/main -..${a} by ${me} (one)`,
    `refs/heads/main ${a}..${b} by ${me} (two)`,
  ])
  t.strictSame(of('refs/heads/topic'), [
    `refs/heads/topic -..${b} by ${me} ()`,
    `refs/heads/topic ${b}..${a} forced by ${me} ()`,
    `refs/heads/topic ${a}..- by ${me} ()`,
  ])
  t.strictSame(of('refs/tags/v1'), [`refs/tags/v1 -..${b} by ${me} ()`, `refs/tags/v1 ${b}..${a} forced by ${me} ()`])
  t.strictSame(of('refs/tags/v2'), [`refs/tags/v2 -..${tag} by ${me} ()`, `refs/tags/v2 ${tag}..- by ${me} ()`])
  t.equal(told.length, 9)
  t.match(received[0]?.headers, { 'x-github-event': 'push', 'x-gitea-event': 'push', 'x-gogs-event': 'push' })
  t.strictSame(pushed.waiting(), [])
})

t.test('Pushes that the service was away for go through, wait, and are told in their order', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url, received } = await receiver(t)
  await pushed.tell(url)
  await pushed.stop()
  const away = []
  for (const message of ['one', 'two', 'three']) away.push(await pushed.push('main', message))
  for (const [index, { status, stderr }] of away.entries()) {
    t.equal(status, 0)
    const count = index === 0 ? '1 push waits' : `${index + 1} pushes wait`
    t.match(stderr, /^remote: commit-status: the service is not told yet: no service answers at /)
    t.match(stderr, `; ${count}, and will go with the next one`)
  }
  const files = pushed.waiting()
  t.equal(files.length, 3)
  t.strictSame(
    files.map((file) => statSync(file).mode & 0o777),
    [0o600, 0o600, 0o600],
  )
  t.equal(statSync(join(pushed.directory, 'commit-status-pushed')).mode & 0o777, 0o700)
  t.equal(received.length, 0)
  await pushed.start()
  const four = await pushed.push('main', 'four')
  t.strictSame([four.status, four.stderr], [0, ''])
  await until(() => received.length >= 4)
  const [a, b, c] = away.map(({ sha }) => short(sha))
  t.strictSame(
    received.map(({ body }) => shortPush(body)),
    [`-..${a} by ${me} (one)`, `${a}..${b} by ${me} (two)`, `${b}..${c} by ${me} (three)`]
      .concat(`${c}..${short(four.sha)} by ${me} (four)`)
      .map((line) => `refs/heads/main ${line}`),
  )
  t.strictSame(pushed.waiting(), [])
  t.equal(new Set(received.map(({ headers }) => headers['x-github-delivery'])).size, 4)
})

t.test('What waits can be handed over without a push, and what is no push is given up', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url, received } = await receiver(t)
  await pushed.tell(url)
  await pushed.stop()
  await pushed.push('main', 'one')
  const [file = ''] = pushed.waiting()
  writeFileSync(file.replace(/\d{15}/, '0'.repeat(15)), '{"refs"')
  writeFileSync(file.replace(/\d{15}/, '1'.repeat(15)), '{"refs": []}')
  writeFileSync(file.replace('.json', '.new'), '')
  await pushed.start()
  const command = `exec ${executable} --config ${pushed.settings} pushed < /dev/null`
  const said = await pushed.run(`cd ${pushed.directory} && ${command}`)
  t.equal(said.status, 0)
  t.equal(said.stderr.match(/what was pushed is given up/g)?.length, 2)
  await until(() => received.length === 1)
  t.strictSame(pushed.waiting(), [file.replace('.json', '.new')])
  t.strictSame(await pushed.run(`cd ${pushed.directory} && ${command}`), { status: 0, stdout: '', stderr: '' })
})

t.test('A push that was noted is told after kill -9, once more with the same delivery', async (t) => {
  const pushed = await PushedRepository.make(t)
  let held: ServerResponse | undefined
  let isHeld = true
  const { url, received } = await receiver(t, (response) => {
    if (isHeld) held = response
    else response.writeHead(204).end()
  })
  await pushed.tell(url)
  const one = await pushed.push('main', 'one')
  await until(() => held !== undefined)
  const two = await pushed.push('main', 'two')
  await pushed.stop('SIGKILL')
  isHeld = false
  await pushed.start()
  await until(() => received.length >= 3)
  const [first, again, last] = received.map(({ headers, body }) => [headers['x-github-delivery'], shortPush(body)])
  t.strictSame(again, first)
  t.match(first?.[1], ` -..${short(one.sha)} `)
  t.match(last?.[1], ` ${short(one.sha)}..${short(two.sha)} by ${me} (two)`)
})

t.test('Elsewhere it goes over HTTP, with a token that may report', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url, received } = await receiver(t)
  await pushed.tell(url)
  const file = join(pushed.place.folder, 'pushes.token')
  const through = (address: string) => {
    pushed.hook(`exec ${executable} --config ${pushed.settings} pushed --url ${address} --token-file ${file}`)
  }
  through(pushed.url)
  t.match((await pushed.push('main', 'one')).stderr, /the token cannot be read/)
  writeFileSync(file, 'cst_wrong\n')
  const wrong =
    /the service is not told yet: http:\S+ answers 401 \(invalid or expired token\); 2 pushes wait, and will/
  t.match((await pushed.push('main', 'two')).stderr, wrong)
  writeFileSync(file, await pushed.place.tokenOf('alice'))
  t.strictSame((await pushed.push('main', 'three')).stderr, '')
  await until(() => received.length === 3)
  t.match(
    received.map(({ body }) => shortPush(body)),
    [/\(one\)$/, /\(two\)$/, /\(three\)$/],
  )
  t.match(JSON.parse(String(received[0]?.body)), { pusher: { name: me }, sender: { login: 'alice' } })

  let [status, reason] = [404, 'not found']
  const other = await receiver(t, (response) => response.writeHead(status).end(JSON.stringify({ error: reason })))
  through(other.url)
  t.match((await pushed.push()).stderr, /answers 404 \(not found\); 1 push waits/)
  ;[status, reason] = [422, 'invalid field']
  t.match((await pushed.push()).stderr, /what was pushed is given up: http:\S+ answers 422 \(invalid field\)/)
  t.strictSame(pushed.waiting(), [])
  t.match(other.received[0], { method: 'POST', path: '/api/v1/repos/alice/hello/pushes' })
})

t.test('Who pushed is who the git server says, if that may be the name of a user', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url, received } = await receiver(t)
  await pushed.tell(url, '--branches', 'main')
  const push = async (variables: Record<string, string>) =>
    await pushed.run('git commit -q --allow-empty -m x && git push -q origin HEAD:main HEAD:other', variables)
  await push({ GL_USER: 'bob', REMOTE_USER: 'carol' })
  await push({ GL_USER: '', REMOTE_USER: 'carol@EXAMPLE.COM' })
  await push({ REMOTE_USER: 'CN=Carol, O=Example' })
  pushed.hook(`exec ${executable} --config ${pushed.settings} pushed --pusher dave`)
  await push({ GL_USER: 'bob' })
  await until(() => received.length >= 4)
  const bodies = received.map(({ body }) => JSON.parse(body) as { pusher: { name: string }; sender: { login: string } })
  t.strictSame(
    bodies.map(({ pusher, sender }) => [pusher.name, sender.login]),
    ['bob', 'carol@EXAMPLE.COM', me, 'dave'].map((name) => [name, name]),
  )
})

t.test('A push of many refs is told in parts, of very many the first thousand', async (t) => {
  const pushed = await PushedRepository.make(t)
  const { url } = await receiver(t)
  const id = await pushed.tell(url)
  await pushed.place.run(['hook', 'pause', id])
  await pushed.push()
  const said = await pushed.run(`
    seq -f 'create refs/heads/${'n'.repeat(60)}/%04g HEAD' 1050 | git update-ref --stdin
    git push -q --all origin`)
  t.match(said, { status: 0 })
  t.match(said.stderr, /the service is told of the first 1000 of 1050 refs/)
  const { stdout } = await pushed.place.run(['hook', 'list', '--json'])
  t.match(JSON.parse(stdout), { waiting: 1001 })
  t.strictSame(pushed.waiting(), [])
})

t.test('Where a group pushes, its members may hand over what others could not', async (t) => {
  const pushed = await PushedRepository.make(t)
  await pushed.stop()
  chmodSync(pushed.directory, 0o2770)
  await pushed.push()
  const [file = ''] = pushed.waiting()
  t.equal(statSync(file).mode & 0o777, 0o660)
  t.equal(statSync(join(pushed.directory, 'commit-status-pushed')).mode & 0o7777, 0o2770)
})

t.test('A push that cannot even wait goes through, and that is said', async (t) => {
  const pushed = await PushedRepository.make(t)
  writeFileSync(join(pushed.directory, 'commit-status-pushed'), '')
  const { status, stderr } = await pushed.push()
  t.equal(status, 0)
  t.match(stderr, /remote: commit-status: the service is not told of this push: EEXIST/)
  rmSync(join(pushed.directory, 'commit-status-pushed'))
  const command = `${executable} --config ${pushed.settings} pushed < /dev/null`
  t.match(await pushed.run(`cd / && ${command}`), { status: 1, stderr: /not a git repository/ })
  t.match(await pushed.run(`cd ${pushed.checkout} && ${command}`), { status: 0, stderr: '' })
})

t.test('What the service does not take waits, with the reason', async (t) => {
  const pushed = await PushedRepository.make(t)
  await pushed.run(`git -C ${pushed.directory} config commit-status.repository bob/none`)
  const { status, stderr } = await pushed.push()
  t.equal(status, 0)
  t.match(stderr, /the service is not told yet: there is no repository bob\/none; 1 push waits/)
  await pushed.run(`git -C ${pushed.directory} config commit-status.repository x`)
  t.match((await pushed.push()).stderr, /set commit-status.repository to <owner>\/<repo>: x does not tell it; 2 pushes/)
  t.equal(pushed.waiting().length, 2)
})

t.test('The oldest pushes are given up where too many wait, and the order is that of the pushes', async (t) => {
  const folder = t.testdir({})
  const waiting = new WaitingPushes(folder, 3)
  t.strictSame(await waiting.list(), [])
  t.equal(await waiting.read('x.json'), undefined)
  const part = (ref: string) => ({ id: 'i', refs: [{ ref, before: '', after: '' }] })
  t.equal(await waiting.add([part('1'), part('2')]), 0)
  const [first = ''] = await waiting.list()
  writeFileSync(join(folder, 'commit-status-pushed', first.replace(/^\d+/, '9'.repeat(14).padStart(15, '0'))), '{}')
  t.equal(await waiting.add([part('3'), part('4')]), 2, 'a clock that went back changes nothing')
  const names = await waiting.list()
  const refs = await Promise.all(names.map(async (name) => /"ref":"(\d)"/.exec((await waiting.read(name)) ?? '')?.[1]))
  t.strictSame(refs, [undefined, '3', '4'])
  rmSync(join(folder, 'commit-status-pushed'), { recursive: true })
  writeFileSync(join(folder, 'commit-status-pushed'), '')
  await t.rejects(waiting.list(), { code: 'ENOTDIR' })
})
