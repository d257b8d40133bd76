import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { withSpecsOf } from '../../scripts/set-up/specs.js'

const tap = fileURLToPath(new URL('../../node_modules/.bin/tap', import.meta.url))

const specsIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(folder, file))
    .sort()

/** The specs that a file runs: its own, or those of its group. */
function specsOf(file: string): string[] {
  if (!file.startsWith('build/')) return [file]
  return Array.from(readFileSync(file, 'utf8').matchAll(/"(spec\/.+)"/g), ([, spec = '']) => spec)
}

t.test('A folder that is named stands for the specs in it, and in the folders in it', async (t) => {
  for (const folder of ['spec/faults', 'spec/store', 'spec/http', 'spec/set-up']) {
    const listed = execFileSync(process.execPath, [tap, 'list', ...withSpecsOf([folder])], { encoding: 'utf8' })
    t.strictSame(listed.trimEnd().split('\n').flatMap(specsOf).sort(), specsIn(folder), folder)
  }
})

t.test('Without a name all specs run, each once', async (t) => {
  t.strictSame(withSpecsOf([]).flatMap(specsOf).sort(), specsIn('spec'))
})

t.test('A spec that needs a process of its own has it', async (t) => {
  const alone = withSpecsOf([]).filter((file) => file.startsWith('spec/'))
  for (const spec of ['spec/admin/socket.test.ts', 'spec/faults/full-disk.test.ts', 'spec/http/long-polling.test.ts'])
    t.ok(alone.includes(spec), spec)
})

t.test('Files and options stay as they are', async (t) => {
  t.strictSame(withSpecsOf(['--reporter=tap', 'spec/pages.test.ts']), ['--reporter=tap', 'spec/pages.test.ts'])
})
