import fc from 'fast-check'
import t from 'tap'
import { isPattern, patternMatcher } from '../../../lib/domain/verdict/pattern.js'
import { anyCharacter } from '../../fixtures/any-character.js'

/** The same, as it is said: slow, and plain. */
function matches(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return text.length === 0
  if (first === '*') return matches(rest, text) || (text.length > 0 && matches(pattern, text.slice(1)))
  return text[0] === first && matches(rest, text.slice(1))
}

t.test('A * stands for any characters, / too, and for none; everything else for itself', async (t) => {
  const cases: [pattern: string, matched: string[], others: string[]][] = [
    ['build', ['build'], ['Build', 'build ', 'a build', 'buil', '']],
    ['test/*', ['test/', 'test/unit', 'test/unit/1', 'test/*'], ['test', 'a/test/', 'Test/unit']],
    ['*', ['', 'build', '/', 'a\nb', '\u{1f600}'], []],
    ['*/lint', ['a/lint', '/lint', 'a/b/lint'], ['lint', 'a/lint/']],
    ['a*a', ['aa', 'aba', 'a\na'], ['a', '']],
    ['a**b', ['ab', 'axb'], ['a']],
    ['ci.[a-z]+(x)?\\*', ['ci.[a-z]+(x)?\\', 'ci.[a-z]+(x)?\\more'], ['ci.a', 'cixa']],
    ['?', ['?'], ['a']],
    ['é', ['é'], ['e\u0301']],
  ]
  for (const [pattern, matched, others] of cases) {
    for (const text of matched) t.ok(patternMatcher(pattern)(text), `${pattern} matches ${JSON.stringify(text)}`)
    for (const text of others) t.notOk(patternMatcher(pattern)(text), `${pattern} matches no ${JSON.stringify(text)}`)
  }
})

t.test('It agrees with the plainest way to say it', async (t) => {
  const part = fc.constantFrom('a', 'b', '*', '/', '.', '\u{1f600}')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.array(part, { maxLength: 10 }), (pattern, text) => {
      t.equal(patternMatcher(pattern.join(''))(text.join('')), matches(pattern, text))
    }),
    { numRuns: 3000 },
  )
})

t.test('No pattern is dear', async (t) => {
  const pattern = `${'*a'.repeat(127)}b`
  const matcher = patternMatcher(pattern)
  const before = process.cpuUsage().user
  for (let run = 0; run < 1000; run++) matcher('a'.repeat(255))
  const each = (process.cpuUsage().user - before) / 1000
  // One that tries again for every * would take years; a machine that others use is slow.
  t.ok(each < 2000, `${each} µs`)
})

t.test('A pattern has 1 to 255 characters, and is well-formed', async (t) => {
  for (const text of ['*', 'a'.repeat(255), '\u{1f600}'.repeat(255), 'a\nb']) t.ok(isPattern(text))
  for (const text of ['', 'a'.repeat(256), '\u{1f600}'.repeat(256), 'a\0', '\ud800']) t.notOk(isPattern(text))
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 255 }), (text) => {
      t.equal(isPattern(text), !text.includes('\0'))
    }),
    { numRuns: 200 },
  )
})
