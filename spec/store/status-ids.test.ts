import t from 'tap'
import { StatusIds } from '../../lib/store/status-ids.js'

t.test('Ids are 12 characters of base64url, each another one, also past those that are drawn at once', async (t) => {
  const ids = new StatusIds()
  const made = Array.from({ length: 2_000 }, () => ids.next())
  t.equal(new Set(made).size, made.length)
  t.strictSame(
    made.filter((id) => !/^[\w-]{12}$/.test(id)),
    [],
  )
  t.equal(new Set(made.map((id) => id[0])).size, 64, 'of all characters')
})
