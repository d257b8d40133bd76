// Rules that protect nothing, in silence: those whose pattern no ref can have, as of somebody who thinks of a shell's.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
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
