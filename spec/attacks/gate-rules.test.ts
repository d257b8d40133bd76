// Rules that protect nothing, in silence: one whose pattern no ref can have, as people write who think of a shell's,
// and one that git no longer reads, since whoever pushes has set its variables (AcceptEnv of sshd, a wrapper, a shell).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRepository } from '../fixtures/git.js'
import { GatedRepository, remoteLines } from '../fixtures/gated-repository.js'

t.test('A rule for what can be no ref refuses every push', async (t) => {
  const gated = await GatedRepository.make(t)
  await gated.git('-C', gated.directory, 'config', '--remove-section', 'commit-status.refs/heads/main')
  await gated.commit()
  const file = join(gated.directory, 'config')
  const others = readFileSync(file, 'utf8')
  const pushUnder = async (pattern: string, ref: string) => {
    writeFileSync(file, `${others}[commit-status "${pattern.replaceAll('\\', '\\\\')}"]\n\trequire = build\n`)
    const pushed = await gated.push(`HEAD:${ref}`)
    return { status: pushed.status, said: remoteLines(pushed)[0] }
  }
  const wrong = [
    'refs/heads/ma?n',
    'refs/heads/[m]ain',
    'refs/heads/main ',
    ' refs/heads/main',
    'refs/heads/main/',
    'refs//heads/main',
    'refs/heads/main^',
    'refs/heads/',
    'refs/',
    'refs/heads/~main',
    'refs/heads/main refs/heads/dev',
    'refs/heads/main.lock',
    'refs/heads/main.',
    'refs/heads/.main',
    'refs/heads/ma..n',
    'refs/heads/ma\\*n',
    'refs/heads/*/',
    'refs/heads/*.lock',
    '*/',
    'refs*',
    // Git lets nobody push to it.
    'refs/main',
    'heads/main',
    'main',
    'HEAD',
    '',
  ]
  for (const pattern of wrong) {
    const words = `${JSON.stringify(pattern)} protects nothing: the name of a ref is like refs/heads/main, and only`
    const said = `commit-status: the push is refused: the rule ${words} * stands for others`
    t.strictSame(await pushUnder(pattern, 'refs/heads/main'), { status: 1, said }, pattern)
  }
  t.match(await pushUnder('refs/heads/ma?n', 'refs/heads/free'), { status: 1 }, 'also of what it does not name')
  t.equal(await gated.ref('refs/heads/main'), '')

  for (const pattern of ['*', '**', '*main', 'refs/*', 'refs/*main', 'refs/heads/*', 'refs/*/m*n', 'refs/heads/main*'])
    t.match(await pushUnder(pattern, 'refs/heads/main'), { status: 1, said: /refs\/heads\/main needs build/ }, pattern)
  let free = 0
  for (const pattern of ['refs/tags/v*', 'refs/heads/v1.0', 'refs/heads/-x', 'refs/heads/@', 'refs/heads/ä{1}'])
    t.match(await pushUnder(pattern, `refs/heads/free${++free}`), { status: 0 }, pattern)
})

t.test('No variable of git that comes from outside turns rules off, or others on', async (t) => {
  const gated = await GatedRepository.make(t)
  const { folder, repositories } = gated.place
  await gated.git('-C', gated.directory, 'config', '--remove-section', 'commit-status.refs/heads/main')
  // The user of the git server has the rules, for all repositories.
  writeFileSync(join(folder, '.gitconfig'), '[commit-status "refs/heads/main"]\n\trequire = build\n')
  const allow = 'commit-status.refs/heads/main.allowCreate'
  const permissive = join(folder, 'permissive')
  writeFileSync(permissive, '[commit-status "refs/heads/main"]\n\trequire = build\n\tallowCreate = true\n')
  // A repository of one's own, where one may do without rules.
  const own = await makeRepository(repositories, 'mallory/own')
  gated.hook('pre-receive', own)
  const [nothing, none] = [join(folder, 'nothing'), join(folder, 'none')]
  writeFileSync(nothing, '')
  mkdirSync(none)
  const outside: Readonly<Record<string, string>>[] = [
    { GIT_CONFIG: '/dev/null' },
    { GIT_CONFIG: permissive },
    { GIT_CONFIG_GLOBAL: '/dev/null' },
    { GIT_CONFIG_GLOBAL: permissive },
    { GIT_CONFIG_NOSYSTEM: '0', GIT_CONFIG_SYSTEM: permissive },
    { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: allow, GIT_CONFIG_VALUE_0: 'true' },
    { GIT_CONFIG_PARAMETERS: `'${allow}=true'` },
    { GIT_DIR: own },
    { GIT_COMMON_DIR: own },
    { GIT_WORK_TREE: folder },
    { GIT_OBJECT_DIRECTORY: join(gated.directory, 'objects') },
    { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(own, 'objects') },
    { GIT_NAMESPACE: 'mallory' },
    { GIT_NO_REPLACE_OBJECTS: '0', GIT_REPLACE_REF_BASE: 'refs/heads/' },
    { GIT_GRAFT_FILE: nothing, GIT_SHALLOW_FILE: nothing, GIT_INDEX_FILE: nothing },
    { GIT_CEILING_DIRECTORIES: folder, GIT_DISCOVERY_ACROSS_FILESYSTEM: '1' },
    { GIT_TRACE: '1', GIT_TRACE_SETUP: '1', GIT_TRACE2: '1', GIT_TRACE2_EVENT: '1' },
    { GIT_EXEC_PATH: none },
    // Green there; gitolite's are believed only of the repository that is pushed to.
    { GL_REPO: 'mallory/own', GL_REPO_BASE: repositories },
  ]
  const program = join(folder, 'receive-pack')
  // As sshd runs it for somebody who has sent variables; on the way to a folder git would take some away.
  const push = async (variables: Readonly<Record<string, string>>, refspec: string) => {
    const words = Object.entries(variables).map(([name, value]) => `export ${name}="${value}"\n`)
    writeFileSync(program, `#!/bin/sh\n${words.join('')}exec $(command -v git-receive-pack) "$@"\n`, { mode: 0o755 })
    return await gated.push(`--receive-pack=${program}`, refspec)
  }
  const red = await gated.commit()
  await gated.pushWip()
  t.equal((await gated.git('-C', gated.checkout, 'push', own, 'HEAD:refs/heads/wip')).status, 0)
  for (const variables of outside) {
    const names = Object.keys(variables).join()
    const pushed = await push(variables, `${red}:refs/heads/main`)
    t.equal(pushed.status, 1, names)
    const said = remoteLines(pushed).filter((line) => line.startsWith('commit-status: '))
    t.strictSame(said, ['commit-status: refs/heads/main needs build'], names)
    t.equal(await gated.ref('refs/heads/main'), '', names)
  }
  await gated.report(red, 'build', 'success')
  const harmless = outside.filter(({ GIT_COMMON_DIR, GIT_NAMESPACE }) => !GIT_COMMON_DIR && !GIT_NAMESPACE)
  const all = harmless.reduce((some, each) => ({ ...some, ...each }))
  t.match(await push(all, `${red}:refs/heads/main`), { status: 0 })
  t.equal(await gated.ref('refs/heads/main'), red, 'what is green passes')
})
