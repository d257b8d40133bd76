import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace } from '../fixtures/command.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const key = (context: string): string => `${repository.full}/${commit.hex}/${context}`

/** A place whose store has three statuses. */
async function filledPlace(folder: string): Promise<CommandPlace> {
  const place = new CommandPlace(folder)
  const store = await LevelStore.open(place.store)
  for (const context of ['a', 'b', 'c']) await store.statuses.save(repository, commit, reportOf(context), 0)
  await store.close()
  return place
}

t.test('A store is verified and backed up in the same words, whether the service is running or not', async (t) => {
  const place = await filledPlace(t.testdir())
  const verified = { status: 0, stdout: '3 statuses, 0 tokens, 0 grants, 0 damaged\n', stderr: '' }
  const copied = (name: string) => ({
    status: 0,
    stdout: `3 statuses, 0 tokens, 0 grants copied to ${join(place.folder, name)}\n`,
    stderr: '',
  })
  const refused = (name: string) => ({
    status: 1,
    stdout: '',
    stderr: `commit-status: ${join(place.folder, name)} is not empty\n`,
  })
  t.strictSame(await place.run(['store', 'verify']), verified)
  t.strictSame(
    await place.run(['store', 'backup', 'stopped']),
    copied('stopped'),
    'a folder is below the working directory of the command',
  )
  t.strictSame(await place.run(['store', 'backup', 'stopped']), refused('stopped'))
  const service = await place.serve(t)
  t.strictSame(await place.run(['store', 'verify']), verified)
  t.strictSame(await place.run(['store', 'backup', 'running']), copied('running'))
  t.strictSame(await place.run(['store', 'backup', 'running']), refused('running'))
  t.strictSame(JSON.parse((await place.run(['store', 'verify', '--json'])).stdout), {
    statuses: 3,
    tokens: 0,
    grants: 0,
    damaged: 0,
    keys: [],
    problems: [],
  })
  await service.end('SIGTERM')
})

t.test('A backup is restored by pointing the setting store at it', async (t) => {
  const place = await filledPlace(t.testdir())
  await place.run(['store', 'backup', 'copy'])
  const environment = { COMMIT_STATUS_STORE: `level:${join(place.folder, 'copy')}` }
  const [original, restored] = [
    await place.run(['status', 'list', 'alice/hello', '--json']),
    await place.run(['status', 'list', 'alice/hello', '--json'], { environment }),
  ]
  t.equal(original.stdout.split('\n').length, 4)
  t.strictSame(restored, original)
})

t.test('What is damaged is named, and the exit status is 1', async (t) => {
  const place = await filledPlace(t.testdir())
  await withRawLevel(place.store, async (level) => {
    await level.put(key('b'), '{}')
  })
  const outcome = {
    status: 1,
    stdout: `damaged: ${key('b')}\n2 statuses, 0 tokens, 0 grants, 1 damaged\n`,
    stderr: 'commit-status: the store is damaged; restore it from a backup\n',
  }
  t.strictSame(await place.run(['store', 'verify']), outcome)
  const service = await place.serve(t)
  t.strictSame(await place.run(['store', 'verify']), outcome)
  const json = await place.run(['store', 'verify', '--json'])
  t.equal(json.status, 1)
  t.match(JSON.parse(json.stdout), { damaged: 1, keys: [key('b')] })
  await service.end('SIGTERM')
  await withRawLevel(place.store, async (level) => {
    await level.batch(
      Array.from({ length: 1002 }, (_, index) => ({ type: 'put' as const, key: `nonsense ${index}`, value: '' })),
    )
  })
  t.match((await place.run(['store', 'verify'])).stdout, /\nand 3 more\n2 statuses, .*, 1003 damaged\n$/)
})

t.test('Damaged files are said by every command that opens the store, and by the service when it starts', async (t) => {
  const place = await filledPlace(t.testdir())
  const log = damageLog(place.store)
  const service = await place.serve(t)
  const { stdout } = await service.end('SIGTERM')
  const [line = ''] = stdout.split('\n').filter((text) => text.includes('damaged'))
  const damage = `${log}: what is there at byte 0 is not what was written`
  t.match(JSON.parse(line), {
    level: 50,
    store: place.store,
    damage: [damage],
    msg: /acknowledged .* may be missing.* store verify.* backup/,
  })

  await place.run(['access', 'grant', 'alice', 'bob', 'read'])
  const next = damageLog(place.store)
  const { status, stderr } = await place.run(['token', 'list'])
  t.equal(status, 0)
  const lines = [log, next].map((name) => `  ${name}: what is there at byte 0 is not what was written\\n`)
  t.match(
    stderr,
    new RegExp(`^commit-status: the store is damaged: .*\\n${lines.join('')}$`),
    'what was lost before is not forgotten',
  )
})

/** Changes a byte of what was written last; gives the name of the file. */
function damageLog(store: string): string {
  const log = readdirSync(store).find((name) => name.endsWith('.log')) ?? ''
  const bytes = readFileSync(join(store, log))
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20)
  writeFileSync(join(store, log), bytes)
  return log
}
