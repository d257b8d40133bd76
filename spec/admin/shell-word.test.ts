import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { shellWord } from '../../lib/admin/shell-word.js'

t.test('A shell reads the text as it is', async (t) => {
  for (const text of ['/srv/git', "a folder's", '$(id) `id` "x" \\ ;&|', '*', '', '~']) {
    const { stdout } = await promisify(execFile)('sh', ['-euc', `printf %s ${shellWord(text)}`])
    t.equal(stdout, text)
  }
  t.equal(shellWord('level:/srv/status'), 'level:/srv/status')
})
