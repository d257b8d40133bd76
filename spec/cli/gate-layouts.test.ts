import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeBareRepository } from '../fixtures/git.js'
import { GatedRepository, remoteLines } from '../fixtures/gated-repository.js'

/** A git server whose rule is that of its user, for all repositories, and a commit that is pushed to them. */
async function serverOf(t: Test) {
  const gated = await GatedRepository.make(t)
  const { folder, repositories } = gated.place
  const sha = await gated.commit()
  const settings = join(folder, 'settings.json')
  writeFileSync(settings, JSON.stringify({ repositories, topOwner: 'git' }))
  const own = `[commit-status]\nurl = ${gated.url}\ntokenFile = ${gated.tokenFile}\n`
  const rules = `${own}[commit-status "refs/heads/main"]\nrequire = build\n`
  writeFileSync(join(folder, '.gitconfig'), rules)
  const push = async (directory: string, ref = 'main') =>
    await gated.git('-C', gated.checkout, 'push', '--quiet', directory, `HEAD:refs/heads/${ref}`)
  return {
    gated,
    folder,
    repositories,
    sha,
    settings,
    /** Adds to the configuration of all repositories. */
    configure: (lines: string) => {
      writeFileSync(join(folder, '.gitconfig'), `${rules}[commit-status]\n${lines}\n`)
    },
    push,
    /** What is said of a push to main. */
    said: async (directory: string) => remoteLines(await push(directory)).join('\n'),
    /** A repository with the gate, to which the commit was pushed where no rule is. */
    make: async (directory: string, options = {}) => {
      await makeBareRepository(directory, options)
      gated.hook('pre-receive', directory)
      const { status, stderr } = await push(directory, 'wip')
      if (status !== 0) throw new Error(stderr)
      return directory
    },
    /** Lets alice, whose token it is, report on what an owner has. */
    grant: async (...owners: string[]) => {
      for (const owner of owners) {
        const { status, stderr } = await gated.place.run(['access', 'grant', owner, 'alice', 'write'])
        if (status !== 0) throw new Error(stderr)
      }
    },
  }
}

const EXPECTED = /^commit-status: refs\/heads\/main needs build\n {2}build {2}no report yet\n?$/

t.test('The gate finds the name in every layout, with the settings of the service alone', async (t) => {
  const { gated, folder, repositories, sha, settings, push, said, make, grant } = await serverOf(t)
  await grant('git', 'team', 'away', 'sub')
  gated.environment = { COMMIT_STATUS_CONFIG: settings }
  // What the last two parts of a path would name.
  await make(join(repositories, 'sub/deep.git'))
  await gated.reportOn('sub/deep', sha)
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(join(elsewhere, 'folder'), { recursive: true })
  symlinkSync(join(elsewhere, 'linked.git'), join(repositories, 'link.git'))
  symlinkSync(join(elsewhere, 'folder'), join(repositories, 'away'))
  for (const [directory, name, address] of [
    ['team/hello.git', 'team/hello'],
    ['team/gtk+.git', 'team/gtk+'],
    ['project.git', 'git/project'],
    ['team/sub/deep.git', 'team/sub/deep', 'team/sub%2Fdeep'],
    ['team/a/b/c/d/e/f/g.git', 'team/a/b/c/d/e/f/g', 'team/a%2Fb%2Fc%2Fd%2Fe%2Ff%2Fg'],
    ['team/plain', 'team/plain'],
    ['plain', 'git/plain'],
    ['../elsewhere/linked.git', 'git/link'],
    ['../elsewhere/folder/inner.git', 'away/inner'],
  ] as const) {
    const path = await make(join(repositories, directory))
    t.match(await said(path), EXPECTED, directory)
    await gated.reportOn(address ?? name, sha)
    t.match(await push(path), { status: 0 }, directory)
    const explained = await gated.place.run(['gate', '--explain', 'main', 'wip'], {
      directory: path,
      environment: { HOME: folder, ...gated.environment },
    })
    t.match(explained.stdout, `repository  ${name}, at`, directory)
  }
})

t.test('The folder is what git’s configuration, the settings or the environment say, in this order', async (t) => {
  const { gated, folder, repositories, settings, configure, said, make, grant } = await serverOf(t)
  await grant('team', 'git')
  const path = await make(join(repositories, 'team/sub/deep.git'))
  const flat = await make(join(repositories, 'project.git'))
  const unknown = /not found: sub\/deep\): if that is another one, set commit-status\.repositories/
  t.match(await said(path), unknown, 'nothing tells it: the last two parts')
  gated.environment = { COMMIT_STATUS_CONFIG: '', COMMIT_STATUS_REPOSITORIES: repositories }
  t.match(await said(path), EXPECTED, 'the environment of the service')
  gated.environment = { ...gated.environment, COMMIT_STATUS_TOP_OWNER: 'project' }
  t.match(await said(flat), /not found: project\/project\)/)
  gated.environment = { COMMIT_STATUS_CONFIG: '' }
  configure(`repositories = ${repositories}`)
  t.match(await said(path), EXPECTED, 'git’s configuration')
  t.match(await said(flat), EXPECTED)
  configure(`repositories = ${repositories}\ntopOwner = project`)
  t.match(await said(flat), /not found: project\/project\)/)
  writeFileSync(settings, JSON.stringify({ repositories: folder, topOwner: 'project' }))
  gated.environment = { COMMIT_STATUS_CONFIG: settings }
  configure('')
  t.match(await said(path), /not found: repositories\/team\/sub\/deep\)/)
  configure(`repositories = ${repositories}\ntopOwner = git`)
  t.match(await said(path), EXPECTED)
  t.match(await said(flat), EXPECTED)
  configure('repository = team/sub/deep\nrepositories = /nonexistent')
  t.match(await said(path), EXPECTED, 'a name goes before them all')
  configure('')
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify({ repositories }))
  const hook = ['gate', '--explain', 'main', 'wip', '--config', config]
  const explained = await gated.place.run(hook, { directory: path, environment: { HOME: folder } })
  t.match(explained.stdout, EXPECTED, 'an option')
})

t.test('What is not served, is hidden, or has two names is refused with the reason', async (t) => {
  const { gated, folder, repositories, settings, configure, said, make, grant } = await serverOf(t)
  await grant('git', 'team')
  gated.environment = { COMMIT_STATUS_CONFIG: settings }
  const hidden = await make(join(repositories, 'project.git'))
  t.match(await said(hidden), EXPECTED)
  const winner = await make(join(repositories, 'git/project.git'))
  t.match(await said(winner), EXPECTED)
  const refused = (words: string | RegExp) =>
    new RegExp(`^commit-status: refs/heads/main is refused: .*${String(words)}`)
  t.match(await said(hidden), refused('is not served: git/project.git has its name, git/project'))
  const twice = await make(join(folder, 'elsewhere/twice.git'))
  t.match(
    await said(twice),
    refused('set commit-status.repositories to the folder of the service: the repository is not in /'),
  )
  for (const name of ['one', 'two']) symlinkSync(twice, join(repositories, `${name}.git`))
  t.match(await said(twice), refused('it is git/one and git/two: set commit-status.repository to one of them'))
  t.match(await said(await make(join(repositories, 'team/a b.git'))), refused('is not served: a blank in its name'))
  const inner = await make(join(hidden, 'inner.git'))
  t.match(await said(inner), refused('the repository is not served$'), 'in another repository')
  configure('repositories = srv/git')
  t.match(await said(hidden), refused('commit-status.repositories must be an absolute path'))
  configure('repositories = /nonexistent')
  t.match(await said(hidden), refused('set commit-status.repositories to .*: ENOENT'))
  writeFileSync(settings, '{')
  configure('')
  t.match(await said(hidden), refused('the settings file .* cannot be read'))
})
