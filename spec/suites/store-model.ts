import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import type { Store } from '../../lib/contracts/store.js'
import { ModelStore } from '../fixtures/model-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { collect, type StoreFactory, type StorePlace } from './store.js'

export function modelSuite(t: Test, factory: StoreFactory): void {
  t.test('Whatever is done in whatever order, a store answers as its contract says', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
        const place = await factory(t)
        const [model, real] = [new ModelStore(), new Compared(place, await place.open())]
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        for (const look of [everything, reopen, everything]) await look.run(model, real)
        await real.store.close()
      }),
      { numRuns: 20 },
    )
    t.pass('every sequence gave equal answers')
  })
}

/** The real store, and which of its ids stands for which of the model's. */
class Compared {
  readonly #place: StorePlace
  store: Store
  readonly #ids = new Map<unknown, unknown>()

  constructor(place: StorePlace, store: Store) {
    this.#place = place
    this.store = store
  }

  async reopen(): Promise<void> {
    await this.store.close()
    this.store = await this.#place.open()
  }

  /** Two answers are equal when they differ in the ids only, and those always in the same way. */
  equal(real: unknown, expected: unknown): void {
    const pairs = idsOf(real).map((id, index) => [id, idsOf(expected)[index]] as const)
    for (const [id, model] of pairs) {
      if (!this.#ids.has(id)) this.#ids.set(id, model)
      deepStrictEqual(this.#ids.get(id), model, 'a status keeps its id, and no other has it')
    }
    const leftOut = this.#place.withoutPendingSince ? ['pending_since'] : []
    deepStrictEqual(comparable(real, leftOut), comparable(expected, leftOut))
  }
}

/** For stores that offer it. */
class RemoveStatuses implements fc.AsyncCommand<ModelStore, Compared> {
  readonly #args: Parameters<ModelStore['statuses']['remove']>

  constructor(args: Parameters<ModelStore['statuses']['remove']>) {
    this.#args = args
  }

  check(): boolean {
    return true
  }

  async run(model: ModelStore, { store }: Compared): Promise<void> {
    if (store.statuses.remove)
      deepStrictEqual(await store.statuses.remove(...this.#args), await model.statuses.remove(...this.#args))
  }

  toString(): string {
    return `remove statuses ${fc.stringify(this.#args)}`
  }
}

/** Does the same with the model and with the real store, and compares what they answer. */
class Call implements fc.AsyncCommand<ModelStore, Compared> {
  readonly #words: string
  readonly #on: (store: Store) => Promise<unknown>

  constructor(on: (store: Store) => Promise<unknown>, words: string) {
    this.#on = on
    this.#words = words
  }

  check(): boolean {
    return true
  }

  async run(model: ModelStore, real: Compared): Promise<void> {
    real.equal(await this.#on(real.store), await this.#on(model))
  }

  toString(): string {
    return this.#words
  }
}

const reopen: fc.AsyncCommand<ModelStore, Compared> = {
  check: () => true,
  run: async (_model, real) => await real.reopen(),
  toString: () => 'reopen',
}

function call<T extends unknown[]>(
  words: string,
  args: { [K in keyof T]: fc.Arbitrary<T[K]> },
  on: (store: Store, ...args: T) => Promise<unknown>,
): fc.Arbitrary<Call> {
  return fc
    .tuple<T>(...args)
    .map((values) => new Call((store) => on(store, ...values), `${words} ${fc.stringify(values)}`))
}

// Few values, so that they meet.
const short = commitId('12ab')
const other = commitId('ff')
// A folder may be called as a commit, and a context as what stands behind it: no name is taken for another's.
const repositories = ['a/b', 'a/b-c', 'a-b/c', 'a/B', `a/b/${other.hex}`, 'a/b,c', 'a/b/c=@'].map(repositoryNamed)
const repository = fc.constantFrom(...repositories)
const commit = fc.constantFrom(short, commitId('12ab', 64), other)
const context = fc.constantFrom('default', 'ci/a', 'ci', '\uffff', '\u{1f600}', '!', `${short.hex}/ci`)
const report = fc.record({
  context,
  state: fc.constantFrom(...STATES),
  description: fc.constantFrom(null, '', 'ok', '{"v":1}'),
  target_url: fc.constantFrom(null, 'https://ci.example/'),
})
const time = fc.integer({ min: 0, max: 9 }).map((step) => Date.parse('2026-01-31T12:00:00.000Z') + step)
const id = fc.constantFrom('1', '2', '3')
const user = fc.constantFrom('bob', 'bob-2', 'a', 'b@~+')
const token = fc.record({
  id,
  digest: fc.constant('d'),
  user,
  name: fc.constantFrom('', 'CI'),
  scopes: fc.constantFrom([], ['repo']),
  expires_at: fc.constantFrom(null, '2027-01-31T12:00:00.000Z'),
})
const owner = fc.constantFrom('a', 'a-b')
const on = fc.oneof(
  owner.map((owner) => ({ owner })),
  repository.map((repository) => ({ owner: repository.owner, repository })),
)
const grant = fc
  .tuple(on, user, fc.constantFrom('read' as const, 'write' as const))
  .map(([key, user, access]) => ({ ...key, user, access }))

const commands = [
  call('save', [repository, commit, report, time], async ({ statuses }, ...args) => await statuses.save(...args)),
  call(
    'save at once',
    [fc.array(fc.tuple(repository, commit, report, time), { maxLength: 8 })],
    async ({ statuses }, all) => await Promise.all(all.map((args) => statuses.save(...args))),
  ),
  fc.tuple(repository, commit, fc.option(context, { nil: undefined })).map((args) => new RemoveStatuses(args)),
  call('list', [repository, commit], async ({ statuses }, ...args) => await statuses.list(...args)),
  call('scan', [repository], async ({ statuses }, repository) => await collect(statuses.scan(repository))),
  call('add token', [token], async ({ tokens }, token) => {
    // Its id is new, and so is the time.
    if ((await tokens.get(token.id)) === undefined)
      await tokens.add({ ...token, created_at: `2026-01-31T12:00:0${token.id}.000Z` })
  }),
  call('get token', [id], async ({ tokens }, id) => await tokens.get(id)),
  call('remove token', [id], async ({ tokens }, id) => await tokens.remove(id)),
  call(
    'note uses',
    [fc.array(fc.tuple(id, fc.constantFrom('2026-01-31T13:00:00.000Z', '2026-01-31T14:00:00.000Z')))],
    async ({ tokens }, uses) => await tokens.noteUse(new Map(uses)),
  ),
  call('list tokens', [fc.option(user, { nil: undefined })], async ({ tokens }, user) => await tokens.list(user)),
  call('set grant', [grant], async ({ grants }, grant) => await grants.set(grant)),
  call('remove grant', [grant], async ({ grants }, grant) => await grants.remove(grant)),
  call('grants of', [user, repository], async ({ grants }, user, repository) =>
    (await grants.of(user, repository)).map((grant) => JSON.stringify(Object.entries(grant).sort())).sort(),
  ),
  call(
    'list grants',
    [fc.option(on, { nil: undefined })],
    async ({ grants }, on) => await grants.list(on?.owner, on && 'repository' in on ? on.repository : undefined),
  ),
  call('rename', [repository, repository], async (store, from, to) => await store.renameRepository(from, to)),
  call('delete', [repository], async (store, repository) => await store.deleteRepository(repository)),
  fc.constant(reopen),
]

const everything = new Call(async ({ statuses, tokens, grants }) => {
  return [
    await Promise.all(repositories.map((repository) => collect(statuses.scan(repository)))),
    await tokens.list(),
    await grants.list(),
  ]
}, 'everything')

/** Every `id` of a status in an answer, in order. */
function idsOf(answer: unknown): unknown[] {
  if (typeof answer !== 'object' || answer === null) return []
  const members: [string, unknown][] = Object.entries(answer)
  return members.flatMap(([name, value]) => (name === 'id' && 'sha' in answer ? [value] : idsOf(value)))
}

/** Without the ids and what the store leaves out, and with what is absent as if it were not named. */
function comparable(answer: unknown, leftOut: readonly string[]): unknown {
  if (Array.isArray(answer)) return answer.map((item) => comparable(item, leftOut))
  if (typeof answer !== 'object' || answer === null) return answer
  const members = Object.entries(answer).filter(
    ([name, value]) => value !== undefined && !(name === 'id' && 'sha' in answer) && !leftOut.includes(name),
  )
  return Object.fromEntries(members.map(([name, value]) => [name, comparable(value, leftOut)]))
}
