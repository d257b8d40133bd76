import t from 'tap'
import { StoreOverloaded, StoreUnavailable } from '../../lib/errors.js'
import { silentLogger, type Logger } from '../../lib/contracts/logger.js'
import { DatabaseFailure } from '../../lib/store/postgres/database-failure.js'
import { PostgresWriter } from '../../lib/store/postgres/writer.js'
import { RepositoryWriters } from '../../lib/store/postgres/writers.js'
import { repositoryNamed } from '../fixtures/names.js'

/** A writer whose statements end when the test says so. */
class Statements {
  readonly sent: string[][] = []
  readonly #ends: (() => void)[] = []
  readonly lines: string[] = []
  readonly writer: PostgresWriter<string, string>

  constructor(bounds?: { changes: number; size: number }) {
    const logger: Logger = { ...silentLogger, warn: (_facts, message) => void this.lines.push(message) }
    this.writer = new PostgresWriter<string, string>(
      async (rows) => {
        this.sent.push([...rows])
        await new Promise<void>((resolve) => this.#ends.push(resolve))
        return rows.map((row) => `saved ${row}`)
      },
      logger,
      bounds,
    )
  }

  apply(key: string, row = key): Promise<string> {
    return this.writer.apply({ key, size: 1, row })
  }

  async end(): Promise<void> {
    this.#ends.shift()?.()
    await turn()
  }
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

t.test('What arrives together goes together, what arrives meanwhile joins the next statement', async (t) => {
  const statements = new Statements()
  const first = ['a', 'b', 'c'].map((key) => statements.apply(key))
  await turn()
  t.strictSame(statements.sent, [['a', 'b', 'c']])
  const second = [statements.apply('d')]
  await turn()
  const third = ['e', 'f'].map((key) => statements.apply(key))
  await turn()
  t.strictSame(statements.sent.slice(1), [['d']], 'two are on their way, and no more')
  await statements.end()
  t.strictSame(statements.sent.slice(2), [['e', 'f']])
  await statements.end()
  await statements.end()
  t.strictSame(
    await Promise.all([...first, ...second, ...third]),
    ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `saved ${key}`),
  )
})

t.test('Changes of one key are made one after the other, and hold up no other', async (t) => {
  const statements = new Statements()
  const all = Promise.all([
    statements.apply('a', 'a1'),
    statements.apply('a', 'a2'),
    statements.apply('b'),
    statements.apply('a', 'a3'),
  ])
  await turn()
  t.strictSame(statements.sent, [['a1', 'b']])
  await statements.end()
  t.strictSame(statements.sent.slice(1), [['a2']])
  await statements.end()
  await statements.end()
  t.strictSame(await all, ['saved a1', 'saved a2', 'saved b', 'saved a3'])
})

t.test('A change that is made alone comes after all before it and before all after it', async (t) => {
  const statements = new Statements()
  const done: string[] = []
  let finish = (): void => undefined
  const before = statements.apply('a')
  const alone = statements.writer.applyAlone(async () => {
    done.push('begun')
    await new Promise<void>((resolve) => (finish = resolve))
  })
  const after = statements.apply('b')
  await turn()
  t.strictSame([done, statements.sent], [[], [['a']]])
  await statements.end()
  t.strictSame([done, statements.sent], [['begun'], [['a']]])
  finish()
  await alone
  await turn()
  await statements.end()
  t.strictSame(await Promise.all([before, after]), ['saved a', 'saved b'])
  await t.rejects(
    statements.writer.applyAlone(() => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
})

t.test('More than may wait is refused at once, and said once', async (t) => {
  for (const bounds of [
    { changes: 2, size: 100 },
    { changes: 100, size: 2 },
  ]) {
    const statements = new Statements(bounds)
    const accepted = [statements.apply('a'), statements.apply('b')]
    await t.rejects(statements.apply('c'), StoreOverloaded)
    await t.rejects(statements.apply('d'), StoreOverloaded)
    t.strictSame(statements.lines, ['too many changes wait for the database: more are refused'])
    await turn()
    await statements.end()
    await Promise.all(accepted)
    const later = statements.apply('e')
    await turn()
    await statements.end()
    t.equal(await later, 'saved e', 'later there is room again')
  }
})

t.test('Closing refuses what comes, and waits for what was accepted', async (t) => {
  const statements = new Statements()
  const accepted = statements.apply('a')
  let closed = false
  const closing = statements.writer.close().then(() => (closed = true))
  await t.rejects(statements.apply('b'), StoreUnavailable)
  await turn()
  t.notOk(closed)
  await statements.end()
  await closing
  t.equal(await accepted, 'saved a')
  await new Statements().writer.close()
})

t.test('A value that the database does not take costs nobody else anything', async (t) => {
  const refusal = DatabaseFailure.of(Object.assign(new Error('bad'), { severity: 'ERROR', code: '22021' }), true)
  const sent: string[] = []
  const writer = new PostgresWriter<string, string>(async (rows) => {
    sent.push(rows.join())
    if (rows.includes('bad')) throw refusal
    return await Promise.resolve([...rows])
  }, silentLogger)
  const answers = await Promise.allSettled(['a', 'bad', 'b'].map((key) => writer.apply({ key, size: 1, row: key })))
  t.strictSame(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.strictSame(sent, ['a,bad,b', 'a', 'bad', 'b'])
})

t.test('Where each repository has a way of its own, what waits is counted over all', async (t) => {
  const ends: (() => void)[] = []
  const writers = new RepositoryWriters<string, string>(async (rows) => {
    await new Promise<void>((resolve) => ends.push(resolve))
    return [...rows]
  }, silentLogger)
  const names = [repositoryNamed('alice/hello'), repositoryNamed('bob/hello')]
  const saved = names.flatMap((name) =>
    [1, 2].map(async (row) => await writers.apply(name, { key: 'ci', size: 1, row: `${name.full} ${row}` })),
  )
  t.equal(writers.waiting, 4)
  await turn()
  t.equal(writers.waiting, 2, 'of each repository one is on its way')
  while (writers.waiting > 0) {
    ends.shift()?.()
    await turn()
  }
  for (const end of ends) end()
  t.strictSame(await Promise.all(saved), ['alice/hello 1', 'alice/hello 2', 'bob/hello 1', 'bob/hello 2'])
})
