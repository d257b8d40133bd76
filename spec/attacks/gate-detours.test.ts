// What is refused at the front door is tried by another one: a ref that stands for the protected one, or that the
// protected one stands for, and a replacement (`refs/replace/`), which anybody who may push can make, that shows a red
// tag as a green one.
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
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
})

t.test('A rule for a symbolic ref holds for all that leads to the same place', async (t) => {
  const gated = await GatedRepository.make(t)
  const heads = join(gated.directory, 'refs/heads')
  const inRepository = async (...args: string[]) => await gated.git('-C', gated.directory, ...args)
  const lead = async (from: string, to: string) => await inRepository('symbolic-ref', from, to)
  await inRepository('config', '--remove-section', 'commit-status.refs/heads/main')
  // The first one was renamed, those between are for whoever knows an older name.
  const chain = ['refs/heads/top', 'refs/mirrors/mid', 'refs/heads/end']
  await lead('refs/heads/top', 'refs/mirrors/mid')
  await lead('refs/mirrors/mid', 'refs/heads/end')
  // Two that lead to each other disturb nothing.
  await lead('refs/heads/round', 'refs/heads/about')
  await lead('refs/heads/about', 'refs/heads/round')
  const pushUnder = async (rule: string, ref: string) => {
    await gated.configure(`commit-status.${rule}.require`, 'build')
    const pushed = await gated.push(`HEAD:${ref}`)
    await inRepository('config', '--remove-section', `commit-status.${rule}`)
    return { status: pushed.status, said: remoteLines(pushed)[0] }
  }
  const allAreRefused = async (what: string) => {
    for (const rule of ['refs/heads/top', 'refs/mirrors/*', 'refs/heads/e*'])
      for (const ref of chain) {
        const refused = { status: 1, said: `commit-status: ${ref} needs build` }
        t.strictSame(await pushUnder(rule, ref), refused, `${what}: ${rule}, ${ref}`)
      }
    t.match(await pushUnder('refs/mirrors/*', 'refs/heads/free'), { status: 0 }, what)
  }
  const first = await gated.commit()
  await allAreRefused('not there yet')
  t.equal(await gated.ref('refs/heads/end'), '')
  t.match(await pushUnder('refs/tags/*', 'refs/heads/end'), { status: 0 })
  await gated.commit()
  await allAreRefused('there')
  await inRepository('pack-refs', '--all')
  t.match(await pushUnder('refs/heads/top', 'refs/heads/end'), { status: 1 }, 'packed')
  t.equal(await gated.ref('refs/heads/end'), first)

  await lead('refs/heads/by-head', 'HEAD')
  t.match(await pushUnder('refs/heads/by-head', 'refs/heads/main'), { status: 1 }, 'HEAD leads on, too')
  for (const [name, target] of [
    ['linked', 'end'],
    ['absolute', 'refs/heads/end'],
  ] as const) {
    symlinkSync(target, join(heads, name))
    t.match(await pushUnder(`refs/heads/${name}`, 'refs/heads/end'), { status: 1 }, `a link to ${target}`)
  }

  // Where refs/heads is no folder, refs are stored in another way than in files, and git is asked for them.
  const moved = join(gated.directory, 'moved')
  renameSync(heads, moved)
  symlinkSync(moved, heads)
  await allAreRefused('not in files')
  await inRepository('update-ref', '-d', 'refs/heads/end')
  for (const ref of chain)
    t.match(await pushUnder('refs/heads/top', ref), { status: 1 }, `not in files, not there: ${ref}`)
  t.equal(await gated.ref('refs/heads/end'), '')
})

t.test('In a namespace a rule holds for what is seen there, and for where it is stored', async (t) => {
  const gated = await GatedRepository.make(t)
  const space = 'refs/namespaces/fork/'
  const lead = async (from: string, to: string) => await gated.git('-C', gated.directory, 'symbolic-ref', from, to)
  await lead(`${space}refs/heads/master`, `${space}refs/heads/main`)
  await lead(`${space}refs/heads/top`, `${space}refs/heads/end`)
  await gated.configure('commit-status.refs/heads/top.require', 'build')
  await gated.configure('commit-status.refs/namespaces/fork/refs/heads/own.require', 'build')
  const program = join(gated.place.folder, 'receive-pack')
  // As git http-backend and ssh run it for somebody to whom the namespace belongs.
  const script = '#!/bin/sh\nGIT_NAMESPACE=fork exec git-receive-pack "$@"\n'
  writeFileSync(program, script, { mode: 0o755 })
  const push = async (ref: string) => await gated.push(`--receive-pack=${program}`, `HEAD:${ref}`)
  await gated.commit()
  for (const name of ['main', 'master', 'top', 'end', 'own']) {
    const ref = `refs/heads/${name}`
    t.match(remoteLines(await push(ref)), [`commit-status: ${ref} needs build`], ref)
    t.equal((await gated.push(`HEAD:${space}${ref}`)).status, 1, 'past the namespace')
  }
  t.equal((await push('refs/heads/free')).status, 0)
  t.not(await gated.ref(`${space}refs/heads/free`), '')
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
