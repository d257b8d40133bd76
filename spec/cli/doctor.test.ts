import { appendFileSync, chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isTooOld } from '../../lib/git/needed-git.js'
import { CommandPlace } from '../fixtures/command.js'
import { freePort } from '../fixtures/free-port.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'

/** The findings on standard output, a word of each in front. */
const levels = (stdout: string): string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/\s+/).slice(0, 2).join(' '))

t.test('Where all is well, doctor says what there is, and ends with 0', async (t) => {
  const place = new CommandPlace(t.testdir())
  await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const service = await place.serve(t)
  const environment = { COMMIT_STATUS_PORT: new URL(service.url).port, COMMIT_STATUS_TITLE: 'ACME' }
  const { status, stdout, stderr } = await place.run(['doctor'], { environment })
  t.strictSame([status, stderr], [0, ''])
  t.match(stdout, /^ok +version +commit-status \d+\.\d+\.\d+.*, Node\.js \d+/)
  t.match(stdout, /^ok +libgit2 +/m)
  t.match(stdout, /^ok +git +git version /m)
  t.match(stdout, /^ok +settings +no file: .*title \(COMMIT_STATUS_TITLE\)/m)
  t.match(stdout, new RegExp(`^ok +repositories +1 in ${place.repositories}$`, 'm'))
  t.match(
    stdout,
    new RegExp(`^ok +store +${place.store} of \\w+, open in process ${service.child.pid}, which takes`, 'm'),
  )
  t.match(stdout, /^(?:ok|warn) +disk +[\d.]+ GiB free at /m)
  t.match(stdout, new RegExp(`^ok +address +${service.url} answers 200$`, 'm'))
  const lines = (await place.run(['doctor', '--json'], { environment })).stdout.trimEnd().split('\n')
  for (const line of lines) t.match(JSON.parse(line), { level: /^(?:ok|warn)$/, about: String, words: String })
})

t.test('What is wrong is said, by line, and the exit status is 1', async (t) => {
  const place = new CommandPlace(t.testdir())
  const port = String(await freePort())
  rmSync(place.repositories, { recursive: true })
  const environment = { COMMIT_STATUS_PORT: port, COMMIT_STATUS_PUBLIC_URL: `http://127.0.0.1:${port}` }
  const { status, stdout, stderr } = await place.run(['doctor'], { environment })
  t.strictSame([status, stderr], [1, ''])
  t.match(stdout, /^fail +repositories +.*ENOENT/m)
  t.match(stdout, new RegExp(`^warn +store +${place.store} is not there yet`, 'm'))
  t.match(stdout, new RegExp(`^fail +address +nothing answers at http://127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`, 'm'))
  t.match(stdout, /^fail +publicUrl +nothing answers/m)
  t.match(stdout, /^warn +proxy +trustedProxies names none/m)
})

t.test('A store that is open to others, and one that another process has without a service, are named', async (t) => {
  const place = new CommandPlace(t.testdir())
  await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  await place.tokenOf('alice')
  chmodSync(place.store, 0o755)
  const { stdout } = await place.run(['doctor'])
  t.match(stdout, /^ok +store +.*; no process has it open$/m)
  t.match(stdout, /^warn +store +.* is open to others than \w+$/m)
  t.match(stdout, /^warn +address +port 0/m)
})

t.test('Settings that are none end it, after what needs none', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { status, stdout } = await place.run(['doctor'], { environment: { COMMIT_STATUS_PORT: 'eighty' } })
  t.equal(status, 1)
  t.strictSame(levels(stdout), ['ok version', 'ok libgit2', 'ok git', 'fail settings'])
})

t.test('A database that is not there is wrong, and its password is nowhere', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_STORE: `postgres://me:geheim@127.0.0.1:${await freePort()}/statuses` }
  const { status, stdout, stderr } = await place.run(['doctor'], { environment })
  t.equal(status, 1)
  t.match(stdout, /^fail +store +postgres:\/\/\*\*\*@127\.0\.0\.1:\d+\/statuses: .*ECONNREFUSED/m)
  t.notMatch(stdout + stderr, /geheim/)
})

t.test('Repositories that cannot be read, or need a later git, are named', async (t) => {
  const place = new CommandPlace(t.testdir())
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const { directory } = await makeRepositoryWithCommit(place.repositories, `alice/${name}`)
    appendFileSync(join(directory, 'config'), '[extensions]\n\trefStorage = reftable\n')
  }
  mkdirSync(join(place.repositories, 'bob/empty.git'), { recursive: true })
  const { status, stdout } = await place.run(['doctor'])
  t.equal(status, 1)
  t.match(stdout, /^fail +repositories +cannot be read: .*ENOENT/m)
  if (isTooOld(await git('version'), { extension: '', version: '2.45' }))
    t.match(
      stdout,
      /^fail +repositories +the installed git is too old for alice\/a \(.* needs git 2\.45\);.*; and 2 more$/m,
    )
})
