import { join } from 'node:path'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { reasonLines, runWithLog } from './log.js'
import { say, withProgress } from './progress.js'
import { succeeds, testPrograms } from './test-programs.js'

/** What the build needs, by Debian package, with a shell command that succeeds when it works. */
const buildNeeds = {
  'build-essential': 'make --version && ${CC:-gcc} --version && echo "#include <new>" | ${CXX:-g++} -E -x c++ -',
  python3: '"${PYTHON:-python3}" --version',
  git: 'git --version',
}

/**
 * Sees to the compiler and libraries that the build of libgit2 needs: installs them as root with
 * apt-get, otherwise stops with the command that does.
 */
export async function ensureSystemPackages() {
  const names = await missing(buildNeeds)
  if (names.length === 0) return
  const canInstall = await haveAptGet()
  if (process.getuid?.() === 0 && canInstall) await install(names)
  const still = await missing(buildNeeds)
  if (still.length === 0) return
  throw new SetUpFailure(`building libgit2 needs system packages that are missing: ${still.join(' ')}`, {
    mend: canInstall
      ? `sudo apt-get install -y ${still.join(' ')}`
      : process.platform === 'darwin'
        ? 'xcode-select --install'
        : 'install them (these are their names in Debian), then run the same command again',
  })
}

/**
 * The packages whose command fails.
 * @param {Readonly<Record<string, string>>} needs
 */
async function missing(needs) {
  const checked = Object.entries(needs).map(async ([name, check]) => ((await succeeds(check)) ? [] : [name]))
  return (await Promise.all(checked)).flat()
}

/**
 * Installs what only some tests need, where that can be done without asking: without it they are skipped, each by its
 * name.
 */
export async function offerTestPackages() {
  if (process.getuid?.() !== 0 || !(await haveAptGet())) return
  const unusable = await missing(testPrograms)
  // What is installed and does not run, apt-get would not mend.
  const names = await missing(Object.fromEntries(unusable.map((name) => [name, isInstalled(name)])))
  if (names.length === 0) return
  await install(names).catch(async () => {
    const still = await missing(testPrograms)
    say(`some tests are skipped, as these packages could not be installed: ${still.join(' ')}`)
  })
}

const haveAptGet = async () => await succeeds('command -v apt-get')

const isInstalled = (/** @type {string} */ name) =>
  `dpkg-query -W -f '\${db:Status-Status}' ${name} | grep -qx installed`

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
