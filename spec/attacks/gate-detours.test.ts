// What is refused at the front door is tried by another one: a ref that stands for the protected one, and a
// replacement (`refs/replace/`), which anybody who may push can make, that shows a red tag as a green one.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GatedRepository, remoteLines } from '../fixtures/gated-repository.js'

t.test('A ref that stands for a protected one is protected as that is, whether or not it is there yet', async (t) => {
  const gated = await GatedRepository.make(t)
  const inRepository = async (...args: string[]) => await gated.git('-C', gated.directory, ...args)
  await inRepository('symbolic-ref', 'refs/heads/trunk', 'refs/heads/main')
  await inRepository('symbolic-ref', 'refs/heads/master', 'refs/heads/trunk')
  const green = await gated.commit()
  await gated.pushWip()
  for (const context of ['build', 'test/unit']) await gated.report(green, context, 'success')
  const red = await gated.commit()
  await gated.pushWip()
  const push = async (ref: string, id = red) => await gated.push(`${id}:${ref}`)
  t.match(remoteLines(await push('refs/heads/master')), [
    /^commit-status: refs\/heads\/master needs build, test\/\*/,
    /build +no report yet/,
    /test\/\* +no report yet/,
  ])
  t.equal((await push('refs/heads/trunk')).status, 1)
  t.equal(await gated.ref('refs/heads/main'), '')
  t.equal((await push('refs/heads/master', green)).status, 0, 'what is green reaches it that way, too')
  t.equal(await gated.ref('refs/heads/main'), green)
  await inRepository('pack-refs', '--all')
  t.equal((await push('refs/heads/master')).status, 1)
  t.equal(await gated.ref('refs/heads/main'), green)
  t.equal((await push('refs/heads/free')).status, 0, 'others stay free')

  // Where refs/heads is no folder, refs are stored in another way than in files.
  rmSync(join(gated.directory, 'refs/heads'), { recursive: true })
  t.equal((await push('refs/heads/free2')).status, 0)
})

t.test('A replacement that somebody pushes makes no red tag or commit green', async (t) => {
  const gated = await GatedRepository.make(t)
  const inCheckout = async (...args: string[]) => (await gated.git('-C', gated.checkout, ...args)).stdout.trimEnd()
  await gated.configure('commit-status.refs/tags/v*.require', 'build')
  const green = await gated.commit()
  await gated.pushWip()
  for (const context of ['build', 'test/unit']) await gated.report(green, context, 'success')
  const red = await gated.commit()
  await gated.pushWip()
  await inCheckout('tag', '--annotate', '--message=green', 'good', green)
  await inCheckout('tag', '--annotate', '--message=red', 'v1', red)
  const [good, bad] = [await inCheckout('rev-parse', 'good'), await inCheckout('rev-parse', 'v1')]
  for (const id of [bad, red]) t.equal((await gated.push(`${good}:refs/replace/${id}`)).status, 0)
  const pushed = await gated.push('v1')
  t.equal(pushed.status, 1)
  t.match(remoteLines(pushed), [/^commit-status: refs\/tags\/v1 needs build/])
  t.match(remoteLines(await gated.push(`${red}:refs/heads/main`)), [/^commit-status: refs\/heads\/main needs build/])
  t.strictSame([await gated.ref('refs/tags/v1'), await gated.ref('refs/heads/main')], ['', ''])
})
