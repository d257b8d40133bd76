import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { linesOf } from '../../lib/admin/ndjson.js'
import { collect } from '../suites/store.js'

t.test('A line ends at \\n and nowhere else, however the text arrives', async (t) => {
  const text = 'a\u2028b\r\n\né\u{1f600}\nlast'
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 1000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    )
    t.strictSame(await collect(linesOf(Readable.from(pieces))), ['a\u2028b\r', '', 'é\u{1f600}', 'last'])
  }
})

t.test('A line that is too long is refused before it fills the memory', async (t) => {
  const endless = async function* (): AsyncGenerator<string> {
    yield 'short\n'
    for (;;) yield 'x'.repeat(1000)
  }
  await t.rejects(collect(linesOf(Readable.from(endless()))), {
    name: 'LineTooLong',
    message: 'a line has more than 1048576 characters',
  })
  t.strictSame(await collect(linesOf(Readable.from(['xx\n']), { maxLength: 2 })), ['xx'])
})

t.test('What keeps the text from being read is met by whoever reads the lines, also when it came before', async (t) => {
  const text = new PassThrough()
  const lines = linesOf(text)
  text.destroy(new Error('the disk is gone'))
  await new Promise((resolve) => text.on('close', resolve))
  await t.rejects(collect(lines), { message: 'the disk is gone' })
})

t.test('A signal ends the waiting for lines', async (t) => {
  const waiting = new PassThrough()
  const controller = new AbortController()
  const lines = linesOf(waiting, { signal: controller.signal })
  waiting.write('first\n')
  t.equal((await lines.next()).value, 'first')
  const next = lines.next()
  controller.abort()
  await t.rejects(next, { name: 'AbortError' })
})
