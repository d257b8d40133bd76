import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { CoalescedRepositories } from '../../lib/git/coalesced-repositories.js'
import type { MaybePromise } from '../../lib/concurrency/maybe-promise.js'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'
import type { Repository } from '../../lib/contracts/repositories.js'
import { makeRepository } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { slowPace } from '../fixtures/slow-pace.js'

const hello = repositoryNamed('alice/hello')

/** A repository, shared look-ups of it, and how often it was looked up in truth. */
async function shared(
  t: Test,
  pace: SyncWhileFast,
): Promise<{ directory: string; mark: string; find: () => MaybePromise<Repository | undefined>; looks: () => number }> {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const repositories = new RepositoryFolder(folder, { topOwner: 'git', pace })
  let looks = 0
  const lookUps = new CoalescedRepositories({
    find: (name) => {
      looks++
      return repositories.find(name)
    },
  })
  return {
    directory,
    mark: join(directory, 'git-daemon-export-ok'),
    find: () => lookUps.find(hello),
    looks: () => looks,
  }
}

for (const [kind, paceOf] of [
  ['fast', () => new SyncWhileFast()],
  ['slow', slowPace],
] as const) {
  t.test(`Look-ups of one turn of the event loop are one, a later one looks again: ${kind}`, async (t) => {
    const { directory, mark, find, looks } = await shared(t, paceOf())
    const found = await Promise.all([find(), find(), find()])
    t.equal(looks(), 1)
    t.match(found, [{ public: false }, { public: false }, { public: false }])
    await setImmediate()
    writeFileSync(mark, '')
    t.match(await find(), { public: true })
    t.equal(looks(), 2)
    await setImmediate()
    rmSync(directory, { recursive: true })
    t.equal(await find(), undefined)
    t.equal(looks(), 3)
  })
}

t.test('Who asks while it is looked up shares the next look-up, which sees what changed meanwhile', async (t) => {
  const { directory, mark, find, looks } = await shared(t, slowPace())
  for (let round = 0; round < 50; round++) {
    rmSync(mark, { force: true })
    const before = looks()
    const first = find()
    t.equal(find(), first, 'in the same turn of the event loop it is one')
    await new Promise((resolve) => process.nextTick(() => globalThis.setImmediate(resolve)))
    writeFileSync(mark, '')
    const [later, latest] = [find(), find()]
    t.equal((await later)?.public, true)
    t.equal((await latest)?.public, true)
    await first
    t.ok(looks() - before <= 3)
    await setImmediate()
  }
  rmSync(directory, { recursive: true })
  t.equal(await find(), undefined)
})
