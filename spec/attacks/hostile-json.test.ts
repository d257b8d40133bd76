// Bodies made to break a parser within the 16 KiB that are read: nesting that overflows a stack (Jackson, Gson, serde,
// PHP), keys made to collide, numbers that fit nowhere, text that is none, and one document that two parsers read
// differently.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'

const MAX_BYTES = 16_384

/** `begin`, then `open` as often as it fits together with `close`, `end` last. */
function nested(begin: string, open: string, close: string, end: string): string {
  const depth = Math.floor((MAX_BYTES - 1 - begin.length - end.length) / (open.length + close.length))
  return begin + open.repeat(depth) + close.repeat(depth) + end
}

const members = (count: number, member: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => member(index)).join()

/** Bodies that are no report. */
const NO_REPORTS: Readonly<Record<string, string | Buffer>> = {
  'nested arrays': nested('', '[', ']', ''),
  'nested arrays, never closed': '['.repeat(MAX_BYTES),
  'nested objects': nested('', '{"state":', '}', '').replace(':}', ':0}'),
  'nested objects, never closed': '{"a":'.repeat(3276),
  'nested in the state': nested('{"state":', '[', ']', '}'),
  'nested in the context': nested('{"state":"success","context":', '[', ']', '}'),
  'nested in the description': nested('{"state":"success","description":', '{"a":', '}', '}').replace(':}', ':0}'),
  'an array of numbers': `[${members(8000, () => '1')}]`,
  'a number': '1e999',
  'a number of 16,384 digits': '9'.repeat(MAX_BYTES),
  'a state that is a number beyond all': '{"state":1e999}',
  'an endless string': `"${'a'.repeat(MAX_BYTES - 1)}`,
  'backslashes': '\\'.repeat(MAX_BYTES),
  'blanks': ' '.repeat(MAX_BYTES),
  'two documents': '{"state":"success"}{"state":"failure"}',
  'a comment': '{"state":"success"/* or not */}',
  'a trailing comma': '{"state":"success",}',
  'single quotes': "{'state':'success'}",
  'JSON5': '{state:"success"}',
  'NaN': '{"state":"success","x":NaN}',
  'a raw line break in a string': '{"state":"success","context":"a\nb"}',
  'a raw NUL behind': '{"state":"success"}\0',
  'a form': 'state=success',
  'XML with an entity': '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  'UTF-16': Buffer.from('\ufeff{"state":"success"}', 'utf16le'),
  'UTF-32': Buffer.from(Array.from('{"state":"success"}').flatMap((character) => [character.charCodeAt(0), 0, 0, 0])),
  'UTF-7': '+AHsAIgBzAHQAYQB0AGUAIgA6ACIAcwB1AGMAYwBlAHMAcwAiAH0-',
  'a surrogate in UTF-8': Buffer.from('{"state":"success","context":"\xed\xa0\x80"}', 'latin1'),
  'overlong UTF-8': Buffer.from('{"state":"success","context":"\xc0\xaf"}', 'latin1'),
  'half a character': Buffer.from('{"state":"success","context":"\xe2\x82"}', 'latin1'),
  'a compressed body': gzipSync('{"state":"success"}'),
} // prettier-ignore

/** Bodies that are reports, with something beside. */
const REPORTS: Readonly<Record<string, string>> = {
  'nested arrays in an unknown member': nested('{"state":"success","x":', '[', ']', '}'),
  'nested objects in an unknown member': nested('{"state":"success","x":', '{"a":', '}', '}').replace(':}', ':0}'),
  'a key of 16,000 characters': `{"${'k'.repeat(16_000)}":1,"state":"success"}`,
  'as many members as fit': `{${members(1400, (index) => `"k${index}":1`)},"state":"success"}`,
  'members with numbers for keys': `{${members(1400, (index) => `"${index * 7}":1`)},"state":"success"}`,
  'the same member again and again': `{${members(900, () => '"state":"error"')},"state":"success"}`,
  'a state in escapes': '{"\\u0073tate":"\\u0073uccess"}',
  'numbers that fit nowhere': `{"state":"success","x":[1e999,-1e999,1e-999,${'9'.repeat(4000)},-0]}`,
  'lone surrogates in unknown members': '{"state":"success","\\ud800":"\\udc00"}',
  'the same member with a good and a bad value': '{"context":1,"context":"default","state":"success"}',
  'blanks around': `${' '.repeat(8000)}{"state":"success"}${'\n'.repeat(8000)}`,
}

t.test('A body that is no JSON object with a string state gives 400, however it is made', async (t) => {
  const hosted = await hostCommit(t)
  for (const [name, body] of Object.entries(NO_REPORTS)) {
    const answer = await hosted.report(body)
    refused(t, answer, 400, /^invalid JSON body: [ -~]{1,200}$/, name)
  }
  t.strictSame(await hosted.stored(), [], 'nothing was stored')
  t.strictSame(
    hosted.service.log.filter(({ level }) => Number(level) >= 40),
    [],
    'no warning, no error',
  )
  t.equal((await hosted.report({ state: 'success' })).status, 201, 'the service still answers')
})

t.test('What stands beside a report is ignored, whatever it is', async (t) => {
  const hosted = await hostCommit(t)
  for (const [name, body] of Object.entries(REPORTS)) {
    t.match(
      await hosted.report(body),
      { status: 201, body: { state: 'success', context: 'default', description: null, target_url: null } },
      name,
    )
  }
  t.equal((await hosted.stored()).length, 1)
  t.equal((await hosted.list()).text.length < 400, true, 'nothing but the report is kept')
  t.strictSame(
    hosted.service.log.filter(({ level }) => Number(level) >= 40),
    [],
    'no warning, no error',
  )
})

t.test('A body that says it is compressed, or of another kind, is read as the bytes it has', async (t) => {
  const { service, reportPath, token, ...hosted } = await hostCommit(t)
  for (const encoding of ['gzip', 'deflate', 'br', 'identity', 'gzip, gzip', 'nonsense']) {
    const answer = await service.call('POST', reportPath, {
      token,
      body: { state: 'success', context: encoding },
      headers: { 'Content-Encoding': encoding, 'Content-Type': 'text/plain; charset=utf-16' },
    })
    t.equal(answer.status, 201, encoding)
  }
  t.equal((await hosted.stored()).length, 6)
})
