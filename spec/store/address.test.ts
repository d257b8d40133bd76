import t from 'tap'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import { levelFolder, withoutPassword } from '../../lib/store/address.js'

t.test('The address of a LevelDB store is its kind and its folder', async (t) => {
  t.equal(levelFolder('level:/srv/a:b'), '/srv/a:b')
  t.equal(levelFolder('postgres://localhost'), undefined)
  t.equal(await migrateStore('level:/srv/a:b'), undefined, 'it has no tables')
})

t.test('There are no other kinds', async (t) => {
  const shown: Record<string, string> = {
    'mysql://u:secret@localhost/d': 'mysql:***',
    'u:secret@localhost': 'u:***',
    memory: '***',
    'postgres:': 'postgres:***',
    'postgres://': 'postgres:***',
    'postgres:/u:secret@localhost/d': 'postgres:***',
  }
  for (const [address, expected] of Object.entries(shown)) {
    const refusal = { name: 'TypeError', message: `no store of this kind: ${expected}` }
    await t.rejects(openStore(address), refusal)
    await t.rejects(migrateStore(address), refusal)
  }
})

t.test('Nobody sees a password', async (t) => {
  const shown: Record<string, string> = {
    'postgres://u:secret@h:1/d?sslmode=require': 'postgres://***@h:1/d?sslmode=require',
    'postgres://u:se:c/r@e"t\n@h/d': 'postgres://***@h/d',
    'postgres://h/d?user=u&password=secret&x=1': 'postgres://h/d?user=u&password=***&x=1',
    'postgres://h/d': 'postgres://h/d',
    'level:/srv/store': 'level:/srv/store',
  }
  for (const [address, expected] of Object.entries(shown)) t.equal(withoutPassword(address), expected)
})
