import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { serialisedList, toText } from '../../lib/domain/status-list.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { anyCharacter } from '../fixtures/any-character.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { wholeList } from '../fixtures/whole-list.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const text = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
  .filter((each) => each.isWellFormed() && !each.includes('\0'))
const report = fc.record({
  context: fc.oneof(fc.constantFrom('a', 'A', 'a/b', 'ä', '"', '\u{10000}', '\uffff'), text),
  state: fc.constantFrom(...STATES),
  description: fc.option(text),
  target_url: fc.option(fc.webUrl()),
})

t.test(
  'A list that is kept is, byte for byte, what the store holds, whatever is reported in whatever order',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(report, { minLength: 1, maxLength: 12 }),
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        async (reports, listed) => {
          const store = await LevelStore.open(join(t.testdir(), 'store'))
          try {
            for (const [index, each] of reports.entries()) {
              await store.statuses.save(repository, commit, each, index)
              if (listed[index]) await store.statuses.serialised(repository, commit)
            }
            const kept = await wholeList(store, repository, commit)
            const held = serialisedList((await store.statuses.list(repository, commit)).map(toText))
            t.same([kept.bytes.toString(), kept.digest], [held.bytes.toString(), held.digest])
          } finally {
            await store.close()
          }
        },
      ),
      { numRuns: 60 },
    )
  },
)

t.test('Reports that arrive together are in the list that is kept, whoever lists meanwhile', async (t) => {
  const store = await LevelStore.open(join(t.testdir(), 'store'))
  t.teardown(async () => await store.close())
  const save = async (context: string, round: number): Promise<void> => {
    await store.statuses.save(
      repository,
      commit,
      { context, state: 'success', description: `round ${round}`, target_url: null },
      round,
    )
    const { bytes } = await wholeList(store, repository, commit)
    const { statuses } = JSON.parse(bytes.toString()) as { statuses: { context: string; description: string }[] }
    t.equal(statuses.find((status) => status.context === context)?.description, `round ${round}`)
  }
  for (let round = 0; round < 20; round++)
    await Promise.all(['a', 'b', 'c', 'd'].map(async (context) => await save(context, round)))
})

t.test('Lists leave no memory behind that is not collected', async (t) => {
  const store = await LevelStore.open(join(t.testdir(), 'store'))
  t.teardown(async () => await store.close())
  await Promise.all(
    Array.from(
      { length: 10 },
      async (_, index) =>
        await store.statuses.save(
          repository,
          commit,
          { context: `ci/${index}`, state: 'success', description: 'x'.repeat(200), target_url: null },
          0,
        ),
    ),
  )
  const lists = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 50)
      await Promise.all(Array.from({ length: 50 }, async () => await store.statuses.list(repository, commit)))
  }
  await lists(20_000)
  const before = ownMemory()
  await lists(20_000)
  t.ok(ownMemory() - before < 150, `${ownMemory() - before} MB more after 20,000 lists more`)
})

/** Megabytes that are in memory and of no file. */
function ownMemory(): number {
  return Math.round(Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024)
}
