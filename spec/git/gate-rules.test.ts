import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GateRules } from '../../lib/git/gate-rules.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'

/** A repository, and what the gate asks of refs of it. */
async function scene(t: Test) {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const processes = new GitProcesses()
  const { HOME } = process.env
  t.teardown(() => {
    processes.close()
    process.env['HOME'] = HOME
  })
  const rules = new GateRules(processes, new RefLists(processes))
  return {
    directory,
    set: async (name: string, value: string) =>
      await git('-C', directory, 'config', '--add', `commit-status.${name}`, value),
    requiredOf: async (...refs: string[]) => {
      const ruleOf = await rules.of({ directory, public: true })
      return refs.map((ref) => ruleOf(ref)?.require)
    },
  }
}

t.test('Without rules nothing is protected; settings of the gate are none', async (t) => {
  const { requiredOf, set } = await scene(t)
  t.strictSame(await requiredOf('refs/heads/main'), [undefined])
  await set('url', 'http://127.0.0.1:8080')
  t.strictSame(await requiredOf('refs/heads/main'), [undefined])
})

t.test('Rules hold for what their patterns match, and add up', async (t) => {
  const { requiredOf, set } = await scene(t)
  await set('refs/heads/main.require', 'build')
  await set('refs/heads/*.require', 'lint')
  await set('refs/heads/*.require', 'build')
  await set('refs/tags/v*.allowCreate', 'true')
  t.strictSame(await requiredOf('refs/heads/main', 'refs/heads/a/b', 'refs/tags/v1.0', 'refs/tags/w'), [
    ['build', 'lint'],
    ['lint', 'build'],
    [],
    undefined,
  ])
})

t.test('A rule for a symbolic ref holds for all that lead to the same place', async (t) => {
  const { requiredOf, set, directory } = await scene(t)
  await git('-C', directory, 'symbolic-ref', 'refs/heads/master', 'refs/heads/main')
  await git('-C', directory, 'symbolic-ref', 'refs/heads/trunk', 'refs/heads/master')
  await git('-C', directory, 'update-ref', 'refs/namespaces/n/refs/heads/main', 'refs/heads/main')
  await set('refs/heads/master.require', 'build')
  t.strictSame(await requiredOf('refs/heads/main', 'refs/heads/trunk', 'refs/heads/other'), [
    ['build'],
    ['build'],
    undefined,
  ])
  await set('refs/heads/main.require', 'lint')
  t.strictSame(await requiredOf('refs/namespaces/n/refs/heads/main'), [['lint']], 'with its namespace and without')
})

t.test("Those of the user count as well, but for what cannot be read; the repository's own must be", async (t) => {
  const { requiredOf, set, directory } = await scene(t)
  await set('refs/heads/main.require', 'build')
  const home = join(t.testdirName, 'home')
  mkdirSync(home)
  writeFileSync(join(home, '.gitconfig'), '[commit-status "refs/heads/main"]\n\trequire = lint\n\tby\n')
  process.env['HOME'] = home
  t.strictSame(await requiredOf('refs/heads/main'), [['lint', 'build']])
  writeFileSync(join(home, '.gitconfig'), '[broken\n')
  t.strictSame(await requiredOf('refs/heads/main'), [['build']])
  writeFileSync(join(directory, 'config'), '[broken\n')
  await t.rejects(requiredOf('refs/heads/main'), { name: 'RepositoryUnreadable' })
})
