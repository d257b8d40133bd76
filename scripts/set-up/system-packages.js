import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { reasonLines, runWithLog } from './log.js'
import { say, withProgress } from './progress.js'

/** What the build needs, by Debian package, with a shell command that succeeds when it is there. */
const buildNeeds = {
  'build-essential': 'command -v make && command -v ${CC:-gcc} && echo "#include <new>" | ${CXX:-g++} -E -x c++ -',
  python3: 'command -v "${PYTHON:-python3}"',
  // The compiler is asked, as header files may stand anywhere.
  'libssl-dev': 'echo "#include <openssl/sha.h>" | ${CXX:-g++} ${CPPFLAGS:-} -E -x c++ -',
  'libkrb5-dev': 'command -v krb5-config',
  git: 'command -v git',
}

/** What some of the tests need besides. */
const testNeeds = {
  gitolite3: 'command -v gitolite',
  postgresql: 'ls /usr/lib/postgresql/*/bin/initdb',
  strace: 'command -v strace',
  openssl: 'command -v openssl',
  // Clients that the compatible APIs are tested with.
  gh: 'command -v gh',
  hub: 'command -v hub',
  'python3-github': '/usr/bin/python3 -c "import github"',
  'python3-gitlab': '/usr/bin/python3 -c "import gitlab"',
  'ruby-octokit': `/usr/bin/ruby -e 'require "octokit"'`,
  'ruby-gitlab': `/usr/bin/ruby -e 'require "gitlab"'`,
  'golang-go': 'command -v go',
  'golang-github-google-go-github-dev': 'ls /usr/share/gocode/src/github.com/google/go-github',
  'golang-github-xanzy-go-gitlab-dev': 'ls /usr/share/gocode/src/github.com/xanzy/go-gitlab',
  chromium: 'command -v chromium',
  cgit: 'test -x /usr/lib/cgit/cgit.cgi',
  gitweb: 'test -x /usr/share/gitweb/gitweb.cgi',
  curl: 'command -v curl',
  nginx: 'PATH=$PATH:/usr/sbin command -v nginx',
}

/**
 * Sees to the compiler and libraries that the build of libgit2 needs: installs them as root with
 * apt-get, otherwise stops with the command that does.
 */
export async function ensureSystemPackages() {
  const names = missing(buildNeeds)
  if (names.length === 0) return
  if (process.getuid?.() === 0 && haveAptGet()) await install(names)
  const still = missing(buildNeeds)
  if (still.length === 0) return
  throw new SetUpFailure(`building libgit2 needs system packages that are missing: ${still.join(' ')}`, {
    mend: haveAptGet()
      ? `sudo apt-get install -y ${still.join(' ')}`
      : process.platform === 'darwin'
        ? 'xcode-select --install; brew install krb5 openssl@3'
        : 'install them (these are their names in Debian), then run the same command again',
  })
}

/** @returns {string[]} */
function missing(/** @type {Record<string, string>} */ needs) {
  return Object.entries(needs).flatMap(([name, check]) => (succeeds(check) ? [] : [name]))
}

function succeeds(/** @type {string} */ check) {
  return spawnSync('/bin/sh', ['-c', check], { stdio: 'ignore' }).status === 0
}

/**
 * Installs what only some tests need, where that can be done without asking: without it they are skipped, each by its
 * name.
 */
export async function offerTestPackages() {
  const names = missing(testNeeds)
  if (names.length === 0 || process.getuid?.() !== 0 || !haveAptGet()) return
  await install(names).catch(() => {
    say(`some tests are skipped, as these packages could not be installed: ${missing(testNeeds).join(' ')}`)
  })
}

const haveAptGet = () => succeeds('command -v apt-get')

async function install(/** @type {string[]} */ names) {
  say(`installing the system packages ${names.join(' ')} (apt-get)`)
  const log = join(root, 'build/apt-get.log')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // The update fails when one source of many cannot be reached; the packages may come from another.
  const script = 'apt-get update; apt-get install -y --no-install-recommends "$@"'
  const code = await withProgress(
    () => `system packages: ${names.join(' ')}`,
    () => runWithLog(log, ['/bin/sh', '-c', script, 'sh', ...names], { env }),
  )
  if (code === 0) return
  throw new SetUpFailure('apt-get could not install them', {
    lines: reasonLines(log, /^E:/),
    mend: `apt-get update && apt-get install -y ${names.join(' ')}`,
  })
}
