// Whoever may report talks the gate open. The rule asks for `by = ci`, and CI has found the commit red: its owner
// replaced the red status by one of her own, which then counted for nobody, or filled the commit with contexts before
// CI's failure came, which was refused. Both pushed the red commit to main.
import t, { type Test } from 'tap'
import { GatedRepository, remoteLines } from '../fixtures/gated-repository.js'

const FULL = 'the commit has 4 contexts, as many as it may: another report may have been refused'

/** A red commit that CI has seen; `rule` protects `main` in place of the usual one. */
async function gate(t: Test, rule: readonly string[]) {
  const gated = await GatedRepository.make(t, { environment: { COMMIT_STATUS_LIMIT_CONTEXTS: '4' } })
  await gated.git('-C', gated.directory, 'config', '--remove-section', 'commit-status.refs/heads/main')
  for (const pattern of rule) await gated.configure('commit-status.refs/heads/main.require', pattern)
  await gated.configure('commit-status.refs/heads/main.by', 'ci')
  await gated.place.run(['access', 'grant', 'alice/hello', 'ci', 'write'])
  const token = await gated.place.tokenOf('ci')
  const sha = await gated.commit()
  await gated.pushWip()
  const asCi = async (context: string, state: string) => await gated.report(sha, context, state, {}, token)
  const push = async () => {
    const { status, ...outcome } = await gated.push('HEAD:refs/heads/main')
    return { status, lines: remoteLines({ status, ...outcome }), main: await gated.ref('refs/heads/main') }
  }
  return { gated, sha, asCi, push }
}

for (const rule of [['build', 'test/*'], ['*'], []]) {
  t.test(`An owner who replaces CI’s red status opens nothing: require ${rule.join(', ') || 'none'}`, async (t) => {
    const { gated, sha, asCi, push } = await gate(t, rule)
    await asCi('build', 'success')
    await asCi('test/lint', 'success')
    await asCi('test/unit', 'failure')
    t.match(await push(), { status: 1, main: '' })
    for (const state of ['success', 'pending', 'failure']) {
      await gated.report(sha, 'test/unit', state)
      const { status, lines, main } = await push()
      t.strictSame([status, main], [1, ''], state)
      t.ok(lines.includes('  test/unit was reported last by alice, not by ci'), lines.join('\n'))
    }
    await asCi('test/unit', 'success')
    t.strictSame((await push()).main, sha, 'CI itself opens it')
  })

  t.test(`An owner who fills the commit opens nothing: require ${rule.join(', ') || 'none'}`, async (t) => {
    const { gated, sha, asCi, push } = await gate(t, rule)
    await asCi('build', 'success')
    await asCi('test/lint', 'success')
    for (const context of ['junk/1', 'junk/2']) await gated.report(sha, context, 'success')
    await t.rejects(asCi('test/unit', 'failure'), /too many contexts/)
    const { status, lines, main } = await push()
    t.strictSame([status, main], [1, ''])
    t.ok(lines.includes(`  ${FULL}`), lines.join('\n'))
  })
}

t.test('Exact names that are green by the right user go through, whatever others say', async (t) => {
  const { gated, sha, asCi, push } = await gate(t, ['build', 'test/unit'])
  await asCi('build', 'success')
  await asCi('test/unit', 'success')
  for (const context of ['test/unit/2', 'junk']) await gated.report(sha, context, 'failure')
  t.match(await push(), { status: 0, lines: [], main: sha })
})
