import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace } from '../fixtures/command.js'
import { git, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

for (const running of [false, true]) {
  t.test(`What is stored of a repository is renamed and deleted (${running ? 'running' : 'stopped'})`, async (t) => {
    const place = new CommandPlace(t.testdir())
    const { directory, sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const store = await LevelStore.open(place.store)
    const commit = parseObjectId(sha)
    for (const context of ['a', 'b'])
      if (commit) await store.statuses.save(repositoryNamed('alice/hello'), commit, reportOf(context), 0)
    await store.grants.set({ owner: 'alice', repository: repositoryNamed('alice/hello'), user: 'bob', access: 'read' })
    await store.close()
    const token = await place.tokenOf('bob')
    const service = running ? await place.serve(t) : undefined
    const listed = async (name: string) => {
      const response = await fetch(`${service?.url ?? ''}/api/v1/repos/${name}/commits/${sha}/statuses`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      return [response.status, ((await response.json()) as { statuses?: object[] }).statuses?.length]
    }
    if (service) t.strictSame(await listed('alice/hello'), [200, 2], 'and the service remembers it')

    renameSync(directory, join(place.repositories, 'alice/world.git'))
    t.strictSame(await place.run(['repo', 'rename', 'alice/hello', 'alice/world']), {
      status: 0,
      stdout: '2 statuses, 1 grant moved from alice/hello to alice/world\n',
      stderr: '',
    })
    if (service)
      t.strictSame(
        [await listed('alice/world'), await listed('alice/hello')],
        [
          [200, 2],
          [404, undefined],
        ],
      )
    t.strictSame(await place.run(['repo', 'rename', 'alice/world', 'alice/hello', '--json']), {
      status: 0,
      stdout: '{"from":"alice/world","to":"alice/hello","statuses":2,"grants":1}\n',
      stderr: '',
    })
    await place.run(['status', 'delete', 'alice/hello', sha, '--context', 'a'])

    const ask = {
      status: 2,
      stdout: '',
      stderr: 'commit-status: this would remove 1 status, 1 grant of alice/hello, for good; say --yes to do it\n',
    }
    t.strictSame(
      [await place.run(['repo', 'delete', 'alice/hello']), await place.run(['repo', 'delete', 'alice/hello'])],
      [ask, ask],
      'nothing is done',
    )
    t.strictSame(await place.run(['repo', 'delete', 'alice/hello', '--yes']), {
      status: 0,
      stdout: '1 status, 1 grant of alice/hello removed\n',
      stderr: '',
    })
    t.strictSame(await place.run(['access', 'list']), { status: 0, stdout: '', stderr: '' })

    const refused = (words: string, status = 1) => ({ status, stdout: '', stderr: `commit-status: ${words}\n` })
    const nothing = 'nothing is stored of alice/hello: no status, no grant on it'
    t.strictSame(await place.run(['repo', 'delete', 'alice/hello']), refused(nothing))
    t.strictSame(await place.run(['repo', 'delete', 'alice/hello', '--yes']), refused(nothing))
    t.strictSame(await place.run(['repo', 'rename', 'alice/hello', 'alice/world']), refused(nothing))
    t.strictSame(
      await place.run(['repo', 'rename', 'alice/hello', 'alice/hello']),
      refused('alice/hello is its name already'),
    )
    t.strictSame(
      await place.run(['repo', 'rename', 'alice/hello', 'alice/x.git']),
      refused('"alice/x.git" is no repository name: <owner>/<repo>', 2),
    )
    t.strictSame(
      await place.run(['repo', 'delete', '../hello', '--yes']),
      refused('"../hello" is no repository name: <owner>/<repo>', 2),
    )
  })
}

t.test('An owner folder that cannot be read is named, and the others are listed', async (t) => {
  const place = new CommandPlace(t.testdir())
  for (const name of ['alice/a', 'carol/c']) await makeRepository(place.repositories, name)
  const loop = join(place.repositories, 'bob')
  symlinkSync(loop, loop)
  const expected = {
    status: 1,
    stdout: 'REPOSITORY  VISIBILITY\nalice/a     private\ncarol/c     private\n',
    stderr: `commit-status: not listed: ELOOP: too many symbolic links encountered, stat '${loop}'\n`,
  }
  t.strictSame(await place.run(['repo', 'list']), expected)
  await place.serve(t)
  t.strictSame(await place.run(['repo', 'list']), expected)
})

t.test('What lies there and is not served is named by repo list --skipped, by doctor, and at the start', async (t) => {
  const place = new CommandPlace(t.testdir())
  await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  await git('init', '--quiet', join(place.repositories, 'work'))
  for (let number = 0; number < 21; number++)
    mkdirSync(join(place.repositories, `a blank ${String(number).padStart(2, '0')}.git`))
  const service = await place.serve(t)
  const listed = await place.run(['repo', 'list'], { notes: true })
  t.strictSame([listed.status, listed.stdout.trimEnd().split('\n').length], [0, 2])
  t.equal(listed.stderr, 'commit-status: note: 22 in the folder are not served: see repo list --skipped\n')
  const skipped = await place.run(['repo', 'list', '--skipped'])
  t.equal(skipped.status, 0)
  t.match(skipped.stdout, /^PATH +REASON\na blank 00\.git +a blank in its name\n/)
  t.strictSame([skipped.stdout.trimEnd().split('\n').length, skipped.stderr], [21, 'commit-status: and 2 more\n'])
  const [first = ''] = (await place.run(['repo', 'list', '--skipped', '--json'])).stdout.split('\n')
  t.strictSame(JSON.parse(first), { path: 'a blank 00.git', reason: 'a blank in its name' })
  t.match(
    (await place.run(['doctor'])).stdout,
    /^warn +repositories +not served: "a blank 00\.git" \(a blank in its name\), .*, and 2 more$/m,
  )
  rmSync(join(place.repositories, 'a blank 00.git'), { recursive: true })
  rmSync(join(place.repositories, 'a blank 01.git'), { recursive: true })
  t.match((await place.run(['doctor'])).stdout, /"work" \(a working tree, not a bare repository\)$/m)
  const { stdout } = await service.end('SIGTERM')
  t.match(stdout, /not served: \\"a blank 00\.git\\" \(a blank in its name\), .*, and 2 more/)
})
