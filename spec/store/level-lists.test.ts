import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
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
  // In a process without tap, which keeps memory of its own for each promise.
  const loader = `--import=${fileURLToPath(new URL('../loader/register.js', import.meta.url))}`
  const program = fileURLToPath(new URL('../fixtures/lists-process.ts', import.meta.url))
  const { stdout } = await promisify(execFile)('env', [
    ...['-i', `PATH=${process.env['PATH'] ?? ''}`, process.execPath, loader, program],
    join(t.testdir(), 'store'),
  ])
  // Without the weight that iterators have for V8, more than 60; with it, 12 at most.
  t.ok(Number(stdout) < 35, `${stdout.trim()} MB more after 40,000 lists more`)
})
