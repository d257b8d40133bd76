import { randomBytes } from 'node:crypto'
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { crc32c } from '@node-rs/crc32'
import t, { type Test } from 'tap'
import { StoreCorrupt } from '../../lib/errors.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { Inspection } from '../../lib/store/level/files/inspection.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { resultOf } from '../fixtures/work.js'
import { collect } from '../suites/store.js'

const repository = repositoryNamed('alice/hello')

/** A closed store whose statuses are in a table; with `logged`, more of them in its log. */
async function filledStore(t: Test, commits: number, logged: number): Promise<string> {
  const folder = join(t.testdir(), 'store')
  const first = await LevelStore.open(folder)
  await fill(first, 0, commits)
  await first.close()
  const second = await LevelStore.open(folder)
  await fill(second, commits, logged)
  await second.close()
  return folder
}

/** One after the other: each is a record of its own in the log. */
async function fill(store: LevelStore, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index++)
    await store.statuses.save(
      repository,
      commitId(String(index).padStart(6, '0')),
      reportOf('ci', { description: `of ${index}` }),
      0,
    )
}

/**
 * Opens a store; its damage, as it says it, and what it answers for each commit: what it should, nothing, or that it is
 * damaged.
 */
async function answers(
  folder: string,
  commits: number,
): Promise<{ told: number; right: number; missing: number; refused: number }> {
  let told = 0
  const store = await LevelStore.open(folder, {
    ...silentLogger,
    error: () => {
      told++
    },
  })
  const found = { told: 0, right: 0, missing: 0, refused: 0 }
  for (let index = 0; index < commits; index++) {
    try {
      const [status] = await store.statuses.list(repository, commitId(String(index).padStart(6, '0')))
      if (status && status.description !== `of ${index}`) throw new Error(`a wrong answer: ${JSON.stringify(status)}`)
      found[status ? 'right' : 'missing']++
    } catch (error) {
      if (!(error instanceof StoreCorrupt)) throw error
      found.refused++
    }
  }
  await store.close()
  return { ...found, told }
}

function fileOf(folder: string, ending: RegExp): string {
  const name = readdirSync(folder)
    .filter((name) => ending.test(name))
    .at(-1)
  if (name === undefined) throw new Error(`no such file: ${ending.source}`)
  return name
}

/** A list of tables of one version edit, as a record. */
function manifestOf(...edit: number[]): Buffer {
  const type = 1
  const data = Buffer.from([type, ...edit])
  const crc = crc32c(data)
  const header = Buffer.alloc(6)
  header.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
  header.writeUInt16LE(edit.length, 4)
  return Buffer.concat([header, data])
}

/** The name of the order of keys, log 0, next file 2 and last sequence 0 (db_impl.cc, NewDB). */
function firstManifest(): Buffer {
  const order = Buffer.from('leveldb.BytewiseComparator')
  return manifestOf(1, order.length, ...order, 2, 0, 3, 2, 4, 0)
}

function tablesOf(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.ldb'))
}

function flip(path: string, position: number, mask = 1): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(position) ^ mask, position)
  writeFileSync(path, bytes)
}

async function damageOf(folder: string): Promise<readonly string[]> {
  const inspection = await Inspection.of(folder)
  await inspection.checkTables(() => true)
  return inspection.damage
}

t.test('A store that was written in peace has no damage', async (t) => {
  const folder = await filledStore(t, 100, 20)
  t.strictSame(await damageOf(folder), [])
  t.strictSame(await answers(folder, 120), { told: 0, right: 120, missing: 0, refused: 0 })
})

t.test('Any byte of a table that has changed is found', async (t) => {
  const folder = await filledStore(t, 20, 0)
  const table = join(folder, fileOf(folder, /\.ldb$/))
  const { length } = readFileSync(table)
  // Before the magic number, the footer has some bytes that nobody reads.
  const unread = { from: length - 48, to: length - 8 }
  const unnoticed: number[] = []
  for (let position = 0; position < length; position += position < 300 || position > length - 300 ? 1 : 5) {
    const mask = 1 << (position % 8)
    flip(table, position, mask)
    if ((await damageOf(folder)).length === 0) unnoticed.push(position)
    flip(table, position, mask)
  }
  t.ok(
    unnoticed.every((position) => position >= unread.from && position < unread.to),
    String(unnoticed),
  )
  t.strictSame(await damageOf(folder), [], 'and nothing is found when all are back')
})

t.test('So is a table that was cut', async (t) => {
  const folder = await filledStore(t, 20, 0)
  const table = join(folder, fileOf(folder, /\.ldb$/))
  const bytes = readFileSync(table)
  for (let length = 0; length < bytes.length; length += 13) {
    writeFileSync(table, bytes.subarray(0, length))
    if ((await damageOf(folder)).length === 0) t.fail(`${length} bytes of ${bytes.length}`)
  }
})

t.test(
  'A damaged table gives no wrong answer and leaves no gap; what does not lie in the damaged block is answered',
  async (t) => {
    const folder = await filledStore(t, 300, 0)
    const table = fileOf(folder, /\.ldb$/)
    const { length } = readFileSync(join(folder, table))
    for (let position = 50; position < length; position += 997) {
      const copy = join(t.testdirName, 'copy')
      cpSync(folder, copy, { recursive: true })
      flip(join(copy, table), position)
      const { told, right, missing, refused } = await answers(copy, 300)
      if (told !== 1 || missing > 0 || right + refused !== 300)
        t.fail(`byte ${position}: told ${told}, ${right} right, ${missing} missing, ${refused} refused`)
      if (position === 50) t.ok(right > 100 && refused > 0, `${right} right, ${refused} refused`)
      rmSync(copy, { recursive: true })
    }
  },
)

t.test(
  'While a table is damaged nothing is written: LevelDB would merge it, and end the process over keys out of order',
  async (t) => {
    const folder = await filledStore(t, 400, 0)
    flip(join(folder, fileOf(folder, /\.ldb$/)), 50)
    const store = await LevelStore.open(folder)
    t.teardown(async () => await store.close())
    const reason = 'a table of the store is damaged: it must be restored from a backup'
    t.equal(store.unavailableReason(), reason)
    await t.rejects(store.statuses.save(repositoryNamed('bob/other'), commitId('000001'), reportOf('ci'), 0), {
      name: 'StoreFenced',
      message: reason,
    })
    await t.rejects(store.deleteRepository(repository), { name: 'StoreFenced' })
    await t.rejects(collect(store.statuses.scan(repository)), StoreCorrupt)
    t.equal((await store.statuses.list(repository, commitId('000399'))).length, 1, 'what lies elsewhere can be read')
    const copy = join(t.testdirName, 'copy')
    await t.rejects(resultOf(store.maintenance.backUp(copy)), {
      name: 'BackupRefused',
      message: /^the store is damaged, and a copy .* See store verify: \d+\.ldb is damaged: /,
    })
    t.strictSame(readdirSync(copy), [])
  },
)

t.test('Any byte of a log that has changed is said', async (t) => {
  const folder = await filledStore(t, 0, 8)
  const log = join(folder, fileOf(folder, /\.log$/))
  const { length } = readFileSync(log)
  t.ok(length > 1000)
  for (let position = 0; position < length; position += position < 300 ? 1 : 13) {
    for (const mask of [0x01, 0x80]) {
      flip(log, position, mask)
      if ((await damageOf(folder)).length === 0) t.fail(`byte ${position} of ${length}, ${mask}`)
      flip(log, position, mask)
    }
  }
  flip(log, length - 100)
  const { told, right, missing, refused } = await answers(folder, 8)
  t.strictSame([told, right + missing, refused], [1, 8, 0])
  t.ok(missing > 0, 'LevelDB passes over it, so it had to be said')
})

t.test(
  'What a log has lost is said at every opening, and keeps backups from being made, until an admin removes the note',
  async (t) => {
    const folder = await filledStore(t, 0, 8)
    const log = fileOf(folder, /\.log$/)
    flip(join(folder, log), 200)
    const words = [`${log}: what is there at byte`]
    for (let time = 0; time < 3; time++) {
      const store = await LevelStore.open(folder)
      const { problems } = await resultOf(store.maintenance.verify())
      t.equal(problems.length, 1)
      t.match(problems[0], words[0])
      await t.rejects(resultOf(store.maintenance.backUp(join(t.testdirName, 'copy'))), { name: 'BackupRefused' })
      await store.statuses.save(repository, commitId(`b${time}`), reportOf('ci'), 0)
      await store.close()
      t.match(await answers(folder, 0), { told: 1 })
    }
    rmSync(join(folder, 'lost.txt'))
    t.match(await answers(folder, 0), { told: 0 })
  },
)

t.test(
  'A note that cannot be read or written keeps the store closed: what LevelDB drops must not be forgotten',
  async (t) => {
    const folder = await filledStore(t, 0, 8)
    flip(join(folder, fileOf(folder, /\.log$/)), 200)
    mkdirSync(join(folder, 'lost.txt'))
    await t.rejects(LevelStore.open(folder), { name: 'StoreUnavailable', message: /EISDIR/ })
  },
)

t.test('A store whose making was cut off is made', async (t) => {
  const folder = join(t.testdir(), 'store')
  await (await LevelStore.open(folder)).close()
  // As LevelDB leaves it between the first list of tables and the first log.
  const manifest = firstManifest()
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'MANIFEST-000001'), manifest)
  writeFileSync(join(folder, 'CURRENT'), 'MANIFEST-000001\n')
  t.strictSame(await damageOf(folder), [])
  t.strictSame(await answers(folder, 1), { told: 0, right: 0, missing: 1, refused: 0 })
})

t.test('A record that a crash cut at the end of a log, or room that was never written, is no damage', async (t) => {
  const folder = await filledStore(t, 0, 200)
  const log = join(folder, fileOf(folder, /\.log$/))
  const bytes = readFileSync(log)
  t.ok(bytes.length > 33_000, 'it has more than one block')
  // The last of these has less than a header in its last block.
  for (const length of [...Array.from({ length: 90 }, (_, index) => index * 397), 32_768 + 3]) {
    truncateSync(log, 0)
    writeFileSync(log, bytes.subarray(0, length))
    const damage = await damageOf(folder)
    if (damage.length > 0) t.fail(`${length} bytes of ${bytes.length}: ${damage.join()}`)
  }
  writeFileSync(log, Buffer.concat([bytes, Buffer.alloc(50_000)]))
  t.strictSame(await damageOf(folder), [])
  t.strictSame(await answers(folder, 200), { told: 0, right: 200, missing: 0, refused: 0 })
})

t.test('A hole of zeros in a log is damage', async (t) => {
  const folder = await filledStore(t, 0, 400)
  const log = join(folder, fileOf(folder, /\.log$/))
  const bytes = readFileSync(log)
  const start = bytes.readUInt16LE(4) + 7
  writeFileSync(log, Buffer.from(bytes).fill(0, start, 40_000))
  t.match(await damageOf(folder), [
    new RegExp(`\\.log: what is there at byte ${start} is not what was written`),
    /byte 32768/,
  ])
})

t.test(
  'A store whose log is gone is refused, before LevelDB removes anything; an empty file in its place says to go on',
  async (t) => {
    const folder = await filledStore(t, 4, 4)
    const log = fileOf(folder, /\.log$/)
    rmSync(join(folder, log))
    const before = readdirSync(folder)
    await t.rejects(LevelStore.open(folder), {
      name: 'StoreUnavailable',
      message: new RegExp(`cannot be opened: its file ${log} is gone, .* restore the store from a backup`),
    })
    t.strictSame(readdirSync(folder), before)
    writeFileSync(join(folder, log), '')
    t.match(await answers(folder, 8), { right: 4, missing: 4 })
  },
)

t.test('A damaged or cut list of tables is refused, or it does not matter; no table is removed', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await fill(store, 0, 30)
  // So much that LevelDB writes tables meanwhile, and notes them in its list one after the other.
  const description = (): string => randomBytes(500).toString('hex')
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      Array.from(
        { length: 3000 },
        async (_, index) =>
          await store.statuses.save(
            repositoryNamed('bob/large'),
            commitId('c0ffee'),
            reportOf(`${round} ${index}`, { description: description() }),
            0,
          ),
      ),
    )
  }
  await fill(store, 30, 5)
  await store.close()
  const manifest = fileOf(folder, /^MANIFEST/)
  const bytes = readFileSync(join(folder, manifest))
  const outcomes = { refused: 0, right: 0 }
  const tryIt = async (damaged: Buffer, how: string): Promise<void> => {
    const copy = join(t.testdirName, 'copy')
    cpSync(folder, copy, { recursive: true })
    writeFileSync(join(copy, manifest), damaged)
    try {
      const { right } = await answers(copy, 35)
      if (right < 35) t.fail(`${how}: a gap, ${right} of 35`)
      outcomes.right++
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('cannot be opened'))) throw error
      outcomes.refused++
      t.strictSame(tablesOf(copy), tablesOf(folder), how)
    }
    rmSync(copy, { recursive: true })
  }
  for (let position = 0; position < bytes.length; position += 29) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(position) ^ (1 << (position % 8)), position)
    await tryIt(changed, `byte ${position}`)
    await tryIt(bytes.subarray(0, position), `${position} bytes`)
  }
  t.ok(outcomes.refused > 8, JSON.stringify(outcomes))
})

t.test('A log that cannot be read is said', async (t) => {
  const folder = await filledStore(t, 2, 2)
  const log = fileOf(folder, /\.log$/)
  rmSync(join(folder, log))
  mkdirSync(join(folder, log))
  t.match(await damageOf(folder), [new RegExp(`^${log} cannot be read: EISDIR`)])
})

t.test('A table that cannot be read is said', async (t) => {
  const folder = await filledStore(t, 20, 0)
  const table = fileOf(folder, /\.ldb$/)
  rmSync(join(folder, table))
  mkdirSync(join(folder, table))
  t.match(await damageOf(folder), [new RegExp(`^${table} cannot be read: EISDIR`)])
})

t.test(
  'Tables are looked at for as long as is wanted, and a table that LevelDB has replaced meanwhile is passed over',
  async (t) => {
    const folder = await filledStore(t, 20, 0)
    const inspection = await Inspection.of(folder)
    t.equal(await inspection.checkTables(() => false), false)
    rmSync(join(folder, fileOf(folder, /\.ldb$/)))
    t.equal(await inspection.checkTables(() => true), true)
    t.strictSame(inspection.damage, [])
  },
)

t.test('A list of tables of another kind is said', async (t) => {
  const folder = await filledStore(t, 2, 0)
  const manifest = fileOf(folder, /^MANIFEST/)
  writeFileSync(join(folder, manifest), manifestOf(99))
  t.strictSame(await damageOf(folder), [
    `its list of tables cannot be read: ${manifest} has an entry of unknown kind 99`,
  ])
  writeFileSync(join(folder, manifest), manifestOf(1, 100, 2))
  t.strictSame(await damageOf(folder), ['its list of tables cannot be read: the bytes end early'])
})

t.test('Of files that another process keeps changing, nothing is said to be gone', async (t) => {
  const folder = await filledStore(t, 2, 2)
  rmSync(join(folder, fileOf(folder, /\.log$/)))
  const manifest = join(folder, fileOf(folder, /^MANIFEST/))
  let [time, ended] = [1, false]
  const changes = (async () => {
    while (!ended) {
      utimesSync(manifest, time, time++)
      await setImmediate()
    }
  })()
  while ((await damageOf(folder)).length > 0);
  ended = true
  await changes
  t.match(await damageOf(folder), [/\.log is gone$/], 'but afterwards it is')
})

t.test('What a table that is damaged while it is in use cannot give is StoreCorrupt', async (t) => {
  const folder = await filledStore(t, 300, 0)
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  const table = openSync(join(folder, fileOf(folder, /\.ldb$/)), 'r+')
  writeSync(table, Buffer.alloc(2000, 0xff), 0, 2000, 0)
  closeSync(table)
  const error = { name: 'StoreCorrupt', message: /^what is stored at "alice\/hello\/.*" cannot be read$/ }
  await t.rejects(store.statuses.list(repository, commitId('000001')), error)
  await t.rejects(store.statuses.save(repository, commitId('000001'), reportOf('ci'), 0), error)
})
