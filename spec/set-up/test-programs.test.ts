import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { testPrograms } from '../../scripts/set-up/test-programs.js'
import { missing } from '../fixtures/program.js'

/** Sets a variable of this process until the test ends. */
function setVariable(t: Test, name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  t.teardown(() => {
    if (before === undefined) Reflect.deleteProperty(process.env, name)
    else process.env[name] = before
  })
}

t.test('A program that is there, but does not run, counts as missing', async (t) => {
  const folder = t.testdir()
  for (const [name, code] of Object.entries({ curl: 127, openssl: 1 })) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexit ${code}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  setVariable(t, 'PATH', `${folder}:${process.env['PATH'] ?? ''}`)
  t.equal(await missing('curl'), 'curl cannot be used here')
  t.equal(await missing('openssl', 'python3', 'curl'), 'openssl, curl cannot be used here')
})

// On Debian 12, `git` brought gitweb.cgi, and nobody the module of Perl that it begins with.
const gitwebIsMissing = await missing('gitweb', 'libcgi-pm-perl')
t.test('So does a page of which the language lacks a module', { skip: gitwebIsMissing }, async (t) => {
  const place = t.testdir({ 'CGI.pm': 'die "not installed";' })
  setVariable(t, 'PERL5LIB', place)
  t.equal(await missing('gitweb'), 'gitweb cannot be used here')
  t.equal(await missing('libcgi-pm-perl'), 'libcgi-pm-perl cannot be used here')
})

t.test('.ci/run installs whatever a test is skipped without', async (t) => {
  const script = readFileSync(fileURLToPath(new URL('../../.ci/run', import.meta.url)), 'utf8')
  const words = new Set(script.split(/[\s;()]+/))
  t.strictSame(
    Object.keys(testPrograms).filter((name) => !words.has(name)),
    [],
  )
})
