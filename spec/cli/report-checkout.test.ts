import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ciAgent } from '../fixtures/ci-agent.js'
import { git, makeBareRepository } from '../fixtures/git.js'

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`In a checkout, commit and repository go without saying (${format})`, async (t) => {
    const { place, sha, environment, list } = await ciAgent(t, format)
    const checkout = join(place.folder, 'checkout')
    const remote = join(place.repositories, 'alice/hello.git')
    await git('clone', '--quiet', remote, checkout)
    const inside = join(checkout, 'inside')
    mkdirSync(inside)
    const report = async (...args: string[]) =>
      await place.run(['status', 'report', '--state', 'success', ...args], { environment, directory: inside })
    t.strictSame(await report(), { status: 0, stdout: `reported success on alice/hello ${sha}\n`, stderr: '' })
    t.match(await list(), [{ state: 'success', context: 'default' }])
  })
}

t.test('The remote that tells the repository is origin, or the only one', async (t) => {
  const { place, sha, environment } = await ciAgent(t)
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', join(place.repositories, 'alice/hello.git'), checkout)
  const report = async (...args: string[]) =>
    await place.run(['status', 'report', '--state', 'success', ...args], { environment, directory: checkout })
  await git('-C', checkout, 'remote', 'rename', 'origin', 'upstream')
  t.match(await report(), { status: 0 }, 'the only remote')
  await git('-C', checkout, 'remote', 'add', 'fork', 'https://bob:secret@git.example.com/x%20y')
  t.match(await report(), {
    status: 2,
    stderr:
      'error: no repository is given, and none can be told from the folder: no remote of the checkout is called ' +
      'origin\nsee commit-status status report --help\n',
  })
  await git('-C', checkout, 'remote', 'remove', 'upstream')
  const unclear = await report()
  t.match(unclear, {
    status: 2,
    stderr: 'the URL of the remote fork tells none: git config commit-status.repository does\n',
  })
  t.notMatch(unclear.stderr, 'secret')
  await git('-C', checkout, 'remote', 'remove', 'fork')
  t.match(await report(), { status: 2, stderr: 'the checkout has no remote\n' })
  t.match(await report('alice/hello'), { status: 0, stdout: sha })
})

t.test(
  'Flat and nested repositories are told from the address of a clone, or are named by git’s configuration',
  async (t) => {
    const { place, environment } = await ciAgent(t)
    const checkout = join(place.folder, 'checkout')
    for (const owner of ['git', 'team']) await place.run(['access', 'grant', owner, 'alice', 'write'])
    await makeBareRepository(join(place.repositories, 'project.git'))
    await makeBareRepository(join(place.repositories, 'team/sub/gtk+.git'))
    const hello = join(place.repositories, 'alice/hello.git')
    await git('clone', '--quiet', hello, checkout)
    const sha = await git('-C', checkout, 'rev-parse', 'HEAD')
    const run = async (...args: string[]) => await place.run(args, { environment, directory: checkout })
    const configure = async (name: string, value: string) => await git('-C', checkout, 'config', name, value)
    const works = async (name: string) => {
      const reported = { status: 0, stdout: `reported success on ${name} ${sha}\n`, stderr: '' }
      t.strictSame(await run('status', 'report', '--state', 'success'), reported)
      t.match(await run('status', 'wait', '--require', 'default'), { status: 0 }, name)
      t.match(await run('log'), { status: 0, stdout: '✓', stderr: '' }, name)
    }
    for (const [path, url, name] of [
      ['project.git', 'git@git.example.com:project.git', 'git/project'],
      ['team/sub/gtk+.git', 'ssh://git@git.example.com/team/sub/gtk+.git', 'team/sub/gtk+'],
    ] as const) {
      await git('-C', checkout, 'push', '--quiet', join(place.repositories, path), 'main')
      await git('-C', checkout, 'remote', 'set-url', 'origin', url)
      await works(name)
    }
    await git('-C', checkout, 'remote', 'set-url', 'origin', 'https://git.example.com/a/prefix/project.git')
    const unknown = / 404 \(repository not found: a\/prefix\/project\)$/m
    t.match(await run('status', 'report', '--state', 'success'), { status: 1, stderr: unknown })
    t.match(await run('log'), { status: 0, stderr: unknown })
    await configure('commit-status.repository', 'git/project')
    await works('git/project')
    await configure('commit-status.repository', 'project')
    const wrong = await run('status', 'report', '--state', 'success')
    t.match(wrong, { status: 2, stderr: 'commit-status.repository of git is "project", and no <owner>/<repo>' })
  },
)

t.test('Commits are named as git knows them, and the address is in the configuration of the checkout', async (t) => {
  const { place, sha, environment } = await ciAgent(t)
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', join(place.repositories, 'alice/hello.git'), checkout)
  const { COMMIT_STATUS_URL: url = '', ...others } = environment
  const run = async (...args: string[]) => await place.run(args, { environment: others, directory: checkout })
  const report = async (name: string) => await run('status', 'report', 'alice/hello', name, '--state', 'success')
  t.match(await report('main'), { status: 2, stderr: /no address of the service/ })
  await git('-C', checkout, 'config', 'commit-status.url', 'ftp:secret')
  const wrong = await report('main')
  t.match(wrong, { status: 2, stderr: /^error: commit-status.url of git is no address/ })
  t.notMatch(wrong.stderr, 'secret')
  await git('-C', checkout, 'config', 'commit-status.url', url)
  const reported = { status: 0, stdout: `reported success on alice/hello ${sha}\n`, stderr: '' }
  for (const name of ['main', 'HEAD', sha.slice(0, 7)]) {
    t.strictSame(await report(name), reported)
    t.strictSame(await run('status', 'report', name, '--state', 'success'), reported, 'without the repository')
  }
  t.match(await run('status', 'wait', 'HEAD', '--require', 'default'), { status: 0 })
  t.match(await run('status', 'wait', 'nonsense'), { status: 2, stderr: /"nonsense" is .* nor known to git here/ })
  for (const name of ['nope', '--all'])
    t.match(await run('status', 'report', '--state', 'success', '--', 'alice/hello', name), { status: 2 })
  t.match(await run('status', 'wait', 'alice/hello', 'main', '--require', 'default'), { status: 0 })
  t.match(await run('status', 'list', 'alice/hello', 'main'), { status: 0, stdout: sha })
  t.match(await run('log'), { status: 0, stdout: /✓|success|●|\S/, stderr: '' })
})
