import fc from 'fast-check'
import t, { type Test } from 'tap'
import { formats, makeFinder } from '../fixtures/finder.js'
import { git } from '../fixtures/git.js'
import { makeEachType, makeHistory, makeRepositoryWithHistory, typesOf } from '../fixtures/history.js'

/** What git's maintenance makes of loose objects. */
const layouts: Record<string, (directory: string) => Promise<unknown>> = {
  'as loose objects': async () => undefined,
  'in one pack': async (directory) => await git('-C', directory, 'repack', '-adq', '--window=0'),
  'as deltas': async (directory) => await git('-C', directory, 'repack', '-adfq', '--window=250', '--depth=50'),
  'in many packs': async (directory) => await inManyPacks(directory),
  'in packs and as loose objects': async (directory) => {
    await git('-C', directory, 'repack', '-dq')
    await makeHistory(directory, 10)
  },
  'in packs with a version 1 index': async (directory) =>
    await git('-C', directory, '-c', 'pack.indexVersion=1', 'repack', '-adq'),
  'in many packs with a multi-pack-index': async (directory) => {
    await inManyPacks(directory)
    await git('-C', directory, 'multi-pack-index', 'write')
  },
  'repacked with a multi-pack-index': async (directory) => await git('-C', directory, 'repack', '-adq', '--write-midx'),
  'with a commit-graph': async (directory) => {
    await git('-C', directory, 'repack', '-adq')
    await git('-C', directory, 'commit-graph', 'write', '--reachable')
  },
  'after git gc': async (directory) => await git('-C', directory, 'gc', '--quiet', '--prune=now'),
}

async function inManyPacks(directory: string): Promise<void> {
  await git('-C', directory, 'repack', '-dq')
  for (const branch of ['one', 'two', 'three']) {
    await makeHistory(directory, 5, branch)
    await git('-C', directory, 'repack', '-dq')
  }
}

/** The objects of which something else is told than git tells. */
async function otherThanGit(t: Test, directory: string): Promise<string[]> {
  const finder = makeFinder(t)
  const types = [...(await typesOf(directory))]
  const answers = await Promise.all(types.map(async ([id]) => await finder.has(directory, id)))
  finder.close()
  return types.filter(([, type], at) => answers[at] !== (type === 'commit')).map(([id]) => id)
}

for (const format of formats) {
  t.test(`Every object is told as git tells it, in a repository of the ${format} format`, async (t) => {
    const folder = t.testdir()
    const arranged = Object.entries(layouts).map(async ([layout, arrange]) => {
      const { directory } = await makeRepositoryWithHistory(folder, `alice/${layout.replaceAll(' ', '-')}`, {
        format,
        commits: 40,
      })
      await makeEachType(directory)
      await arrange(directory)
      t.strictSame(await otherThanGit(t, directory), [], layout)
    })
    await Promise.all(arranged)
  })
}

t.test('Whatever maintenance git did, every object is told as git tells it', async (t) => {
  const steps: Record<string, (directory: string, number: number) => Promise<unknown>> = {
    ...layouts,
    'with more commits': async (directory, number) => await makeHistory(directory, 4, `branch-${number}`),
    'with each type': async (directory) => await makeEachType(directory),
    'without loose copies': async (directory) => await git('-C', directory, 'prune-packed', '-q'),
    'with what is unreachable loosened': async (directory, number) => {
      await makeHistory(directory, 2, `gone-${number}`)
      await git('-C', directory, 'repack', '-adq')
      await git('-C', directory, 'update-ref', '-d', `refs/heads/gone-${number}`)
      await git('-C', directory, 'repack', '-Adq')
    },
  }
  const some = fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 4 })
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...formats), some, async (format, chosen) => {
      const { directory } = await makeRepositoryWithHistory(t.testdir(), `alice/repository-${++number}`, {
        format,
        commits: 8,
      })
      await git('-C', directory, 'config', 'core.logAllRefUpdates', 'false')
      for (const step of chosen) {
        await git('-C', directory, 'tag', '-d', 'v1').catch(() => undefined)
        await steps[step]?.(directory, ++number)
      }
      return (await otherThanGit(t, directory)).length === 0
    }),
    { numRuns: 6 },
  )
})
