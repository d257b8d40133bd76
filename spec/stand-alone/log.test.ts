import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { createLogger } from '../../lib/stand-alone/log.js'

/** What a terminal gets. */
async function shown(log: (logger: Awaited<ReturnType<typeof createLogger>>) => void): Promise<string> {
  let text = ''
  log(await createLogger('info', { isTTY: true, write: (chunk) => (text += chunk) }))
  return stripVTControlCharacters(text)
}

t.test('A line on a terminal has the time, the level, what happened and the facts', async (t) => {
  const text = await shown((logger) => {
    logger.debug({}, 'unseen')
    logger.warn({ repository: 'alice/hello', took: 3 }, 'it was slow')
  })
  t.match(text, /^\[\d\d:\d\d:\d\d\] WARN: it was slow \{"repository":"alice\/hello","took":3\}\n$/)
})

t.test('Nothing of others moves its cursor or turns its words round', async (t) => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\re\bf \\u001b \\\\ \\n "quoted" \u00fc'
  const text = await shown((logger) => {
    logger.error({ path: hostile, err: new Error(hostile) }, 'request failed')
  })
  t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  t.match(text, /Error: a\\u001b\[2Jb\\u009bc\\u202ed\\re\\bf \\u001b \\\\ \\n "quoted" \u00fc/)
})
