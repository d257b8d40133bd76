import t from 'tap'
import { reasonOf } from '../lib/reason.js'

t.test('The reason of a failure is what was thrown, in one line', async (t) => {
  t.equal(reasonOf(new Error('of "{\n  a\n}"')), 'of "{ a }"')
  t.equal(reasonOf('a text'), 'a text')
  t.equal(reasonOf(undefined), 'undefined')
})
