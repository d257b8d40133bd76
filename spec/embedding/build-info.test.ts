import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { buildInfo } from '../../lib/embedding/build-info.js'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

t.test('The version is that of the package, the commit what the set-up has written', async (t) => {
  t.strictSame(buildInfo(), { version }, 'nothing is written beside the sources')
  const folder = t.testdir({ commit: '842538d\n', embedding: {} })
  const file = pathToFileURL(join(folder, 'embedding/build-info.js')).href
  t.strictSame(buildInfo(file), { version, commit: '842538d' })
})

t.test('In a file that a host has bundled both are unknown', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bundled-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'dist/server.js')
  t.strictSame(buildInfo(pathToFileURL(file).href), { version: 'unknown' })
})
