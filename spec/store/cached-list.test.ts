import fc from 'fast-check'
import t from 'tap'
import type { CommitStatus } from '../../lib/domain/commit-status.js'
import { serialisedList, toText } from '../../lib/domain/status-list.js'
import { CachedList } from '../../lib/store/level/cached-list.js'
import { anyCharacter } from '../fixtures/any-character.js'
import { commitId } from '../fixtures/names.js'

function status(context: string, description: string): CommitStatus {
  const at = '2026-01-31T12:00:00.000Z'
  return {
    id: 'abcdefghijkl',
    sha: commitId('c0ffee').hex,
    context,
    state: 'success',
    description,
    target_url: null,
    created_at: at,
    updated_at: at,
  }
}

const noted = fc.record({
  context: fc.constantFrom('a', 'b', 'é', '\u{1f600}'),
  description: fc.string({ unit: anyCharacter, maxLength: 200 }),
})

t.test('A list weighs what it takes, before and after it is made anew, and a context counts once', (t) => {
  fc.assert(
    fc.property(fc.array(noted, { maxLength: 20 }), (statuses) => {
      const latest = new Map(statuses.map(({ context, description }) => [context, status(context, description)]))
      const list = new CachedList(serialisedList([]))
      for (const { context, description } of statuses) list.note(status(context, description))
      const before = list.size
      const sorted = [...latest.values()].sort((one, other) =>
        Buffer.compare(Buffer.from(one.context), Buffer.from(other.context)),
      )
      t.equal(list.list.bytes.toString(), serialisedList(sorted.map(toText)).bytes.toString())
      t.ok(before >= list.list.bytes.length && before <= list.list.bytes.length + 600 * (latest.size + 1), `${before}`)
      t.ok(list.size <= before)
    }),
    { numRuns: 50 },
  )
  t.end()
})
