import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { withSpecsOf } from '../../scripts/set-up/specs.js'

const tap = fileURLToPath(new URL('../../node_modules/.bin/tap', import.meta.url))

t.test('A folder that is named stands for the specs in it, and in the folders in it', async (t) => {
  for (const folder of ['spec/faults', 'spec/store', 'spec/set-up']) {
    const specs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
    const listed = execFileSync(process.execPath, [tap, 'list', ...withSpecsOf([folder])], { encoding: 'utf8' })
    t.strictSame(listed.trimEnd().split('\n').sort(), specs.map((file) => join(folder, file)).sort())
  }
})

t.test('Files and options stay as they are', async (t) => {
  t.strictSame(withSpecsOf(['--reporter=tap', 'spec/pages.test.ts']), ['--reporter=tap', 'spec/pages.test.ts'])
})
