import fc from 'fast-check'
import t from 'tap'
import { parseObjectId } from '../../lib/domain/object-id.js'

t.test(
  'A full commit id is 40 hex characters, or 64 (SHA-256); upper-case hex is accepted, and becomes lower case',
  async (t) => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-fA-F]{40}$/), (hex) => {
        t.strictSame(parseObjectId(hex), { hex: hex.toLowerCase(), format: 'sha1' })
      }),
      { numRuns: 50 },
    )
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-fA-F]{64}$/), (hex) => {
        t.strictSame(parseObjectId(hex), { hex: hex.toLowerCase(), format: 'sha256' })
      }),
      { numRuns: 50 },
    )
  },
)

t.test('A shorter or non-hex value is none', async (t) => {
  for (let length = 0; length <= 130; length++) {
    if (length !== 40 && length !== 64) t.equal(parseObjectId('a'.repeat(length)), undefined, `${length} characters`)
  }
  for (const full of [40, 64]) {
    const id = 'a'.repeat(full)
    // Some take U+FF41, U+0660 and U+212A for letters and digits; U+0000 and line ends hide at the edges.
    for (const character of [
      'g',
      'G',
      '.',
      '/',
      ' ',
      '-',
      '+',
      '~',
      '^',
      '\n',
      '\r',
      '\u0000',
      '\uff41',
      '\u0660',
      '\u212a',
      '\u00e9',
      '\ud83d',
    ]) {
      for (const at of [0, 1, full / 2, full - 1])
        t.equal(parseObjectId(id.slice(0, at) + character + id.slice(at + 1)), undefined, JSON.stringify(character))
      for (const longer of [id + character, character + id])
        t.equal(parseObjectId(longer), undefined, JSON.stringify(longer))
    }
    t.equal(parseObjectId(`0x${id.slice(2)}`), undefined)
  }
})

t.test('Names and revisions are none', async (t) => {
  const commit = 'a'.repeat(40)
  for (const text of [
    'HEAD',
    'main',
    'refs/heads/main',
    `${commit}^`,
    `${commit}~1`,
    `${commit}^{tree}`,
    `${commit}:file`,
    `:/a${commit.slice(3)}`,
    `@{${commit.slice(3)}}`,
  ]) {
    t.equal(parseObjectId(text), undefined, text)
  }
})

t.test('What is no text is none', async (t) => {
  for (const value of [undefined, null, 1, 0n, {}, ['a'.repeat(40)], new String('a'.repeat(40)), true])
    t.equal(parseObjectId(value), undefined)
})
