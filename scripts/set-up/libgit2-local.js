import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { succeeds } from './test-programs.js'

/** @typedef {[what: RegExp, replacement: string]} Edit */

const HASHES = 'libgit2/src/util/hash'

/** @type {readonly Edit[]} what would look for Electron each time, by further packages */
const NO_ELECTRON = [
  [/"is_electron%": "<!\(.*"/, '"is_electron%": 0'],
  [/"electron_openssl_root%": "<!\(.*"/, '"electron_openssl_root%": ""'],
]

/**
 * nodegit hands each piece of work to a thread, which hands it to another one, to be there for what libgit2 asks of
 * JavaScript meanwhile: nothing that is used here asks. And it takes a turn of the event loop for each that is done.
 * @type {readonly Edit[]}
 */
const FEWER_HANDOVERS = [
  [/ScheduleWorkTaskOnExecutor\(std::bind[^]*?(?=queueCallbackOnJSThread\(\s+\[worker\])/, 'worker->Execute();\n'],
  [
    /(?=\/\/ get the next callback to run\n)/,
    'for (size_t left = jsThreadCallbackQueue.size(); left > 0 && !jsThreadCallbackQueue.empty(); left--) {\n',
  ],
  [/(?<=performCallback\(\);\s+lock\.lock\(\);)\s+if [^}]*\}/, ''],
  [
    /(?<=uv_unref\([^;]*;\s+\}\s+\}\n)(?=  \}\n\n  void ThreadPoolImpl::Shutdown)/,
    '}\nif (!jsThreadCallbackQueue.empty()) uv_async_send(&jsThreadCallbackAsync);\n',
  ],
]

/** @type {Readonly<Record<string, readonly Edit[]>>} by file of nodegit */
const LOCAL = {
  'src/thread_pool.cc': FEWER_HANDOVERS,
  'vendor/libgit2.gyp': [
    ...NO_ELECTRON,
    ...['SSH', 'SSH_MEMORY_CREDENTIALS', 'SSH_LIBSSH2', 'SSH_LIBSSH2_MEMORY_CREDENTIALS'].map(defined),
    ...['HTTPS', 'OPENSSL', 'NTLM', 'GSSAPI'].map(defined),
    ...['gssapi', 'ntlmclient'].map((name) => line(`"libgit2/src/libgit2/transports/auth_${name}\\.c",?`)),
    ...['"libgit2/deps/ntlmclient"', '"libssh2"', '"ntlmclient"'].map(line),
    ...['cflags', 'libs'].map((name) => line(`"<!\\(krb5-config gssapi --${name}\\)"`)),
    ...['libssh2', 'ntlmclient'].map((name) => target(name)),
    [/"GIT_SHA256_OPENSSL"/, '"GIT_SHA256_BUILTIN"'],
    [/"libgit2\/src\/util\/hash\/openssl\.c"/, `"${HASHES}/builtin.c", "${HASHES}/rfc6234/sha224-256.c"`],
  ],
  'binding.gyp': [
    ...NO_ELECTRON,
    ...['"<!\\(krb5-config gssapi --libs\\)"', '"vendor/libssh2/include",', '"src/init_ssh2\\.cc",'].map(line),
  ],
  'src/nodegit.cc': [
    ...['#include <openssl/crypto\\.h>', '#include "\\.\\./include/init_ssh2\\.h"'].map(line),
    // Locks that OpenSSL has had no need of since 1.1.
    [/^static uv_mutex_t \*opensslMutexes;\n[^]*(?=^\/\/ diagnostic function$)/m, ''],
    ...['OpenSSL_ThreadSetup\\(\\);', 'init_ssh2\\(\\);'].map(line),
  ],
}

/** @type {typeof LOCAL} */
const SYSTEM_ZLIB = {
  'vendor/libgit2.gyp': [
    target('zlib', '{ "target_name": "zlib", "type": "none", "link_settings": { "libraries": ["-lz"] } },'),
  ],
}

/**
 * Leaves https, ssh and Kerberos out of a copy of nodegit's sources: a bare repository on the disk is read without
 * them. The build then needs no header files but Node's own, and the binary no symbols of the OpenSSL in Node. libgit2
 * inflates by the zlib of the system, which gets security updates, where that has header files.
 * @param {string} copy
 */
export async function makeLocal(copy) {
  edit(copy, LOCAL)
  if (await succeeds('echo "#include <zlib.h>" | ${CC:-gcc} -E -')) edit(copy, SYSTEM_ZLIB)
}

/**
 * Replaces parts of files, each of which must be there.
 * @param {string} folder
 * @param {typeof LOCAL} edits
 */
export function edit(folder, edits) {
  for (const [name, list] of Object.entries(edits)) {
    const file = join(folder, name)
    let text = readFileSync(file, 'utf8')
    for (const [what, replacement] of list) {
      if (!what.test(text)) throw new Error(`${file} is not as it was: ${what.source}`)
      text = text.replace(what, () => replacement)
    }
    writeFileSync(file, text)
  }
}

/** @returns {Edit} takes the first line away that is this, in white space */
function line(/** @type {string} */ pattern) {
  return [RegExp(`^[ \\t]*${pattern}[ \\t]*\\n`, 'm'), '']
}

/** @returns {Edit} */
function defined(/** @type {string} */ name) {
  return line(`"GIT_${name}",`)
}

/** @returns {Edit} replaces a target of a gyp file */
function target(/** @type {string} */ name, replacement = '') {
  return [RegExp(`^    \\{\\n      "target_name": "${name}",\\n[^]*?^    \\},?\\n`, 'm'), replacement]
}
