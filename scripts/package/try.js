import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../set-up/child.js'
import { root } from '../set-up/checkout.js'
import { orEnd, SetUpFailure } from '../set-up/failure.js'
import { readJson } from '../set-up/json.js'
import { secondsSince } from '../set-up/progress.js'
import { succeeds, testPrograms } from '../set-up/test-programs.js'

// Tries the package that is in dist/ in a fresh tree of each Debian that is named, or all: scripts/package/try.sh says
// how. --former=FILE is the package that is upgraded; without it, it is the same one with a lower version.

const SUITES = ['bookworm', 'trixie']
const MIRROR = 'http://deb.debian.org/debian'

/** What the package depends on, and what tries it. */
const INCLUDED = [
  'git',
  'libstdc++6',
  'zlib1g',
  'systemd-standalone-sysusers',
  'systemd-standalone-tmpfiles',
  'curl',
  'iproute2',
  'procps',
]

await orEnd(async () => {
  const args = process.argv.slice(2)
  const former = args.find((arg) => arg.startsWith('--former='))?.slice('--former='.length)
  const named = args.filter((arg) => !arg.startsWith('--former='))
  const unknown = named.filter((name) => !SUITES.includes(name))
  if (unknown.length > 0)
    throw new SetUpFailure(`it is tried on no ${unknown.join()}`, { mend: `name of these: ${SUITES.join(', ')}` })
  if (process.getuid?.() !== 0)
    throw new SetUpFailure('only root can make a tree of Debian', { mend: 'run it as root' })
  if (!(await succeeds(testPrograms.mmdebstrap)))
    throw new SetUpFailure('mmdebstrap cannot be used here', { mend: 'apt-get install mmdebstrap' })
  for (const suite of named.length > 0 ? named : SUITES) await tryOn(suite, former)
})

async function tryOn(/** @type {string} */ suite, /** @type {string | undefined} */ former) {
  const start = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'package-'))
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  const tree = join(folder, 'tree')
  const made = ['mmdebstrap', '--quiet', '--variant=minbase', `--include=${INCLUDED.join()}`, suite, tree, MIRROR]
  if ((await run(made)) !== 0)
    throw new SetUpFailure(`there is no tree of Debian ${suite}`, { mend: `see above; it comes from ${MIRROR}` })
  const place = join(tree, 'trial')
  mkdirSync(place)
  chmodSync(folder, 0o755)
  const now = newest()
  copyFileSync(now, join(place, 'commit-status.deb'))
  if (former === undefined) lower(now, join(place, 'former.deb'), folder)
  else copyFileSync(former, join(place, 'former.deb'))
  copyFileSync(join(root, 'scripts/package/try.sh'), join(place, 'try.sh'))
  console.log(
    `# Debian ${readFileSync(join(tree, 'etc/debian_version'), 'utf8').trim()}, made in ${secondsSince(start)} s`,
  )
  // Nothing of it outlives its first process, and there is no network but within.
  const apart = ['unshare', '--net', '--mount', '--pid', '--ipc', '--fork', '--kill-child']
  const inside = 'mount -t proc proc "$1/proc" && ip link set lo up && exec chroot "$1" sh /trial/try.sh'
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LC_ALL: 'C.UTF-8' }
  if ((await run([...apart, 'sh', '-c', inside, 'sh', tree], { env })) !== 0)
    throw new SetUpFailure(`the package does not work on Debian ${suite}`, { mend: 'see above' })
  console.log(`# tried in ${secondsSince(start)} s`)
}

/** The package of this version. */
function newest() {
  const begin = `commit-status_${String(readJson(join(root, 'package.json'))['version'])}_`
  const [name] = readdirSync(join(root, 'dist')).filter((file) => file.startsWith(begin) && file.endsWith('.deb'))
  if (name === undefined) throw new SetUpFailure('there is no package in dist/', { mend: 'npm run package' })
  return join(root, 'dist', name)
}

/** The same package with a lower version. */
function lower(/** @type {string} */ from, /** @type {string} */ to, /** @type {string} */ folder) {
  const content = join(folder, 'former')
  execFileSync('dpkg-deb', ['-R', from, content])
  const control = join(content, 'DEBIAN/control')
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^(Version: .*)$/m, '$1~former'))
  execFileSync('dpkg-deb', ['-Znone', '--root-owner-group', '--build', content, to], { stdio: 'ignore' })
  rmSync(content, { recursive: true })
}
