import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { edit } from '../../scripts/set-up/libgit2-local.js'
import { copySources } from '../../scripts/set-up/libgit2-sources.js'

const nodegit = fileURLToPath(new URL('../../node_modules/nodegit', import.meta.url))
const namesIn = (text: string, pattern: RegExp) => (text.match(pattern) ?? []).sort()

/** Those of libgit2's files that open others themselves; rand.c opens /dev/urandom. */
function openingFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.c') && !/win32|^cli\//.test(name))
    .filter((name) => /(?<![\w>.])(open|openat|fopen)\(/.test(readFileSync(join(folder, name), 'utf8')))
    .sort()
}

t.test("Each of nodegit's C++ files is compiled once, as a part of another one or alone", async (t) => {
  const before = readdirSync(nodegit, { recursive: true }).length
  const copy = await copySources(nodegit, t.testdir({ 'tmp-left': { behind: '' } }))
  const project = readFileSync(join(copy, 'binding.gyp'), 'utf8')
  const compiled = namesIn(project, /(?<=")src\/[^"]+\.cc(?=")/g)
  t.equal(compiled.length, 10)
  const included = compiled.flatMap((file) =>
    file.includes('/joined-')
      ? namesIn(readFileSync(join(copy, file), 'utf8'), /(?<=#include ")[^."]+\.cc(?=")/g).map((name) => `src/${name}`)
      : file,
  )
  const named = namesIn(readFileSync(join(nodegit, 'binding.gyp'), 'utf8'), /(?<=")src\/[^"]+\.cc(?=")/g).filter(
    (name) => name !== 'src/init_ssh2.cc',
  )
  t.ok(named.length > 150)
  t.strictSame(included.sort(), [...new Set(named)])

  const posix = readFileSync(join(copy, 'vendor/libgit2/src/util/posix.c'), 'utf8')
  t.match(posix, /libgit2-open\.h"\n#define open open_at_once\n[^]*\breturn open\(/, 'each file is opened by the guard')
  t.strictSame(openingFiles(join(copy, 'vendor/libgit2/src')), ['util/posix.c', 'util/rand.c'], 'by none but this file')

  t.strictSame(readdirSync(join(copy, '..')), [copy.split('/').at(-1)], 'what an earlier run left is gone')
  t.equal(readdirSync(nodegit, { recursive: true }).length, before, 'nodegit stays as npm has made it')
})

t.test('libgit2 has neither https nor ssh nor Kerberos, and takes nothing from the OpenSSL in Node', async (t) => {
  const binary = readFileSync(join(nodegit, 'build/Release/nodegit.node'), 'latin1')
  t.match(binary, /\0git_odb_read_header\0/, 'names of what is linked are in it')
  t.strictSame(namesIn(binary, /\b(?:BIO|CRYPTO|ERR|EVP|RAND|SHA1|SSL|X509|gss|libssh2)_\w+/g), [])
  t.notMatch(binary, /\0lib(?:crypto|gssapi\w*|krb5|ssh2|ssl)\.so/)
})

t.test('A nodegit whose sources are others is not built as if they were the same', async (t) => {
  const folder = t.testdir({ file: 'the old text\n' })
  t.throws(() => {
    edit(folder, { file: [[/another text/, 'ours']] })
  }, /file is not as it was/)
  t.equal(readFileSync(join(folder, 'file'), 'utf8'), 'the old text\n')
})
