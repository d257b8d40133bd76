import { once, EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { StoredStatus } from '../../lib/domain/commit-status.js'
import type { ObjectId } from '../../lib/domain/object-id.js'
import { Evaluations } from '../../lib/service/evaluations.js'
import { verdictRule } from '../../lib/domain/verdict/rule.js'
import { VerdictBuilder } from '../../lib/domain/verdict/verdict.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'

const repository = repositoryNamed('alice/hello')
const commits = 'abcdef'.split('').map((letter) => commitId(letter))
const status: StoredStatus = {
  ...{ id: '1', sha: 'a'.repeat(40), context: 'build', state: 'success' as const },
  ...{ description: null, target_url: null, created_at: '', updated_at: '2026-01-31T12:00:00.000Z' },
}

/** Reads that begin when they are asked for, and end when the test says so. */
function held(pages: readonly (readonly StoredStatus[])[] = [[status]]) {
  const begun: string[] = []
  const ends = new EventEmitter()
  const evaluations = new Evaluations(async function* (_, { hex }) {
    begun.push(hex.charAt(0))
    const [failure] = (await once(ends, hex.charAt(0))) as [Error | undefined]
    if (failure) throw failure
    yield* pages
  })
  const made: VerdictBuilder[] = []
  const run = async (commit: ObjectId | undefined, key: string) =>
    await evaluations.run(repository, commit ?? commitId('0'), key, () => {
      const evaluation = new VerdictBuilder(verdictRule({ require: ['build'] }), 0)
      made.push(evaluation)
      return evaluation
    })
  return { begun, ends, made, run }
}

t.test('Who asks for a commit before its read begins shares it; who asks later gets a read of their own', async (t) => {
  const { begun, ends, made, run } = held()
  const [a] = commits
  const first = run(a, 'x')
  const later = [run(a, 'x'), run(a, 'y'), run(a, 'x')]
  t.strictSame(begun, ['a'])
  ends.emit('a')
  t.equal((await first).verdict().verdict, 'success')
  t.strictSame(begun, ['a', 'a'], 'what was under way may have missed what was reported since')
  ends.emit('a')
  const [x, y, again] = await Promise.all(later)
  t.ok(x === again && x !== y && x !== (await first), 'equal questions share an evaluation')
  t.equal(made.length, 3)
})

t.test('Of a repository four commits are read at a time; others wait in line', async (t) => {
  const { begun, ends, run } = held()
  const asked = commits.map(async (commit) => await run(commit, 'x'))
  t.strictSame(begun, ['a', 'b', 'c', 'd'])
  ends.emit('c')
  await asked[2]
  t.strictSame(begun, ['a', 'b', 'c', 'd', 'e'])
  ends.emit('e')
  await asked[4]
  for (const letter of 'abdf') ends.emit(letter)
  for (const evaluation of await Promise.all(asked)) t.equal(evaluation.verdict().verdict, 'success')
})

t.test('A read that fails, fails whoever shares it, and nobody else', async (t) => {
  const { ends, run } = held()
  const [a, b] = commits
  const [before, failing, sharing, other] = [run(a, 'x'), run(a, 'x'), run(a, 'y'), run(b, 'x')]
  ends.emit('a')
  await before
  ends.emit('a', new Error('the disk is on fire'))
  await Promise.all([t.rejects(failing, /on fire/), t.rejects(sharing, /on fire/)])
  ends.emit('b')
  t.equal((await other).verdict().verdict, 'success')
  const next = run(a, 'x')
  ends.emit('a')
  t.equal((await next).verdict().verdict, 'success')
})

t.test('A long evaluation takes turns with the rest of the process', async (t) => {
  const evaluations = new Evaluations(async function* () {
    yield Array.from({ length: 200 }, () => status)
  })
  // Each status takes a millisecond, on a fast machine too.
  const dear = Object.assign(new VerdictBuilder({ require: [] }, 0), {
    add: () => {
      const begun = performance.now()
      while (performance.now() - begun < 1);
    },
  })
  const state = { turns: 0, isOver: false }
  const others = (async () => {
    for (; !state.isOver; state.turns++) await setImmediate()
  })()
  await evaluations.run(repository, commitId('a'), 'dear', () => dear)
  state.isOver = true
  await others
  t.ok(state.turns > 40, `${state.turns} turns, of some 4 ms each`)
})
