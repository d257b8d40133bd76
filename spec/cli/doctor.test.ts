import { appendFileSync, chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openSocket } from '../../lib/admin/server.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { isTooOld } from '../../lib/git/needed-git.js'
import { installation } from '../../scripts/cli/doctor/installation.js'
import { CommandPlace } from '../fixtures/command.js'
import { embed } from '../fixtures/embedded.js'
import { freePort } from '../fixtures/free-port.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'
import { RightsProgram } from '../fixtures/rights-program.js'

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
  t.match(stdout, /^ok +version +commit-status \d+\.\d+\.\d+/)
  t.match(stdout, /^ok +installed +as (?:a checkout|files) in \S+, on the Node\.js \d+\.\d+\.\d+ of this machine, \//m)
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

t.test('Doctor knows how the program came here, and whether the Node.js is its own', async (t) => {
  const folder = t.testdir({
    checkout: { '.git': {} },
    node_modules: { 'commit-status-service': {} },
    image: { bin: { node: '' }, container: '' },
    package: { bin: { node: '' }, 'package.json': '{}' },
    tarball: { bin: { node: '' } },
    files: {},
    list: '',
  })
  const filesOfPackage = join(folder, 'list')
  writeFileSync(filesOfPackage, `/.\n${join(folder, 'package/package.json')}\n`)
  const said = (name: string, node = process.execPath) =>
    installation(join(folder, name), { filesOfPackage, node }).words.replace(`${folder}/`, '')
  const machines = `on the Node.js ${process.version.slice(1)} of this machine, ${process.execPath}`
  const own = `on its own Node.js ${process.version.slice(1)}: a security release of it takes a new one`
  t.equal(said('checkout'), `as a checkout in checkout, ${machines}`)
  const npm = 'node_modules/commit-status-service'
  t.equal(said(npm), `as an npm package in ${npm}, ${machines}`)
  t.equal(said('files'), `as files in files, ${machines}`)
  t.equal(said('image', join(folder, 'image/bin/node')), `as a container image, ${own}`)
  t.equal(said('package', join(folder, 'package/bin/node')), `as a Debian package, ${own}`)
  t.equal(said('tarball', join(folder, 'tarball/bin/node')), `from a tarball in tarball, ${own}`)
  t.equal(said('tarball'), `from a tarball in tarball, ${machines}`, 'somebody has taken another one')
  t.match(installation(join(folder, 'package'), { filesOfPackage: join(folder, 'none') }).words, 'from a tarball')
})

t.test('A service on a Unix socket is asked there', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const place = new CommandPlace(folder)
  const host = `unix:${join(folder, 'http.sock')}`
  const environment = { COMMIT_STATUS_HOST: host }
  t.match(
    (await place.run(['doctor'], { environment })).stdout,
    new RegExp(`^fail +address +nothing answers at ${host}: .*ENOENT`, 'm'),
  )
  const { line } = await place.serve(t, { environment })
  t.match(line, `serving ${host} for the repositories in `)
  const { status, stdout } = await place.run(['doctor'], { environment })
  t.equal(status, 0)
  t.match(stdout, new RegExp(`^ok +address +${host} answers 200$`, 'm'))
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
  t.match(stdout, /^ok +store +.*; no service has it open$/m)
  t.match(stdout, /^warn +store +.* is open to others than \w+$/m)
  t.match(stdout, /^warn +address +port 0/m)
})

t.test('Settings that are none end it, after what needs none', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { status, stdout } = await place.run(['doctor'], { environment: { COMMIT_STATUS_PORT: 'eighty' } })
  t.equal(status, 1)
  t.strictSame(levels(stdout), ['ok version', 'ok installed', 'ok libgit2', 'ok git', 'fail settings'])
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

t.test('A service has the store open also where the list of locks does not tell, on Btrfs for one', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { service } = await embed(t)
  // What takes commands, without the lock of a database.
  mkdirSync(place.store, { mode: 0o700 })
  const close = await openSocket(service.administration, place.store, silentLogger)
  t.teardown(async () => {
    await close(0)
  })
  const { stdout } = await place.run(['doctor'])
  t.match(stdout, new RegExp(`^ok +store +${place.store} of \\w+, open in a service, which takes commands$`, 'm'))
})

t.test('Of a file with every setting, only what is not as by default is named', async (t) => {
  const place = new CommandPlace(t.testdir())
  mkdirSync(dirname(place.usualSettings))
  cpSync(fileURLToPath(new URL('../../config/settings.example.json', import.meta.url)), place.usualSettings)
  const { stdout } = await place.run(['doctor'])
  const named = 'port \\(\\w+\\), repositories \\(\\w+\\), store \\(\\w+\\), hooks\\.secretFile \\(\\w+\\)'
  t.match(stdout, new RegExp(`^ok +settings +${place.usualSettings}: ${named}; all else is as by default$`, 'm'))
})

t.test('The program that tells rights is tried, and what it says is shown', async (t) => {
  const place = new CommandPlace(t.testdir())
  const program = new RightsProgram(place.folder)
  const run = async (command = program.command.join(' ')): Promise<string> => {
    const { stdout } = await place.run(['doctor'], { environment: { COMMIT_STATUS_RIGHTS_COMMAND: command } })
    return stdout
  }
  t.match(await run(), /^warn +rights +.* \{access\} was not asked: there is no repository that it could know$/m)
  // A name that is never asked about, and one that is.
  await makeRepositoryWithCommit(place.repositories, 'alice/=a')
  await makeRepositoryWithCommit(place.repositories, 'team/hello')
  program.allow('team/hello doctor R')
  t.match(await run(), /^ok +rights +.* says of the user doctor and team\/hello: R refs\/\.\*, W W any DENIED by/m)
  t.match(
    await run('/no/such/program {access}'),
    /^fail +rights +\/no\/such\/program \{access\}: it cannot be run: .*ENOENT; requests/m,
  )
  rmSync(place.repositories, { recursive: true })
  t.match(await run(), /^warn +rights +.* was not asked/m)
  t.notMatch((await place.run(['doctor'])).stdout, / rights /)
})
