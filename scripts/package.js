import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { arch } from 'node:process'
import { join } from 'node:path'
import { makeDebianPackage } from './package/debian.js'
import { makeTarball } from './package/tarball.js'
import { makeTree } from './package/tree.js'
import { root } from './set-up/checkout.js'
import { orEnd, SetUpFailure } from './set-up/failure.js'
import { readJson } from './set-up/json.js'
import { nodeOf } from './set-up/other-node.js'
import { setUp } from './set-up.js'

/** The Node.js that the packages bring along: the newest LTS. For a security release, it is this line that changes. */
const NODE = '24.21.0'

/** Debian's names of what Node.js is published for. */
const ARCHITECTURES = new Map([
  ['x64', 'amd64'],
  ['arm64', 'arm64'],
])

await setUp()
await orEnd(async () => {
  const architecture = ARCHITECTURES.get(arch)
  if (process.platform !== 'linux' || architecture === undefined)
    throw new SetUpFailure('packages are made on Linux, x64 or arm64', { mend: 'run this on such a machine' })
  const version = String(readJson(join(root, 'package.json'))['version'])
  const time = Number(process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct'))
  // Of all that runs below: dpkg-deb, and what makes the manual.
  process.env['SOURCE_DATE_EPOCH'] = String(time)
  process.umask(0o022)
  mkdirSync(join(root, 'build'), { recursive: true })
  const work = mkdtempSync(join(root, 'build/package-'))
  process.once('exit', () => {
    rmSync(work, { recursive: true, force: true })
  })
  const tree = await makeTree(join(work, 'tree'), { version: NODE, folder: await nodeOf(NODE) })
  const dist = join(root, 'dist')
  mkdirSync(dist, { recursive: true })
  const made = [
    makeDebianPackage(tree, join(dist, `commit-status_${version}_${architecture}.deb`), {
      ...{ version, architecture, time, work },
    }),
    makeTarball(tree, join(dist, `commit-status-${version}-linux-${architecture}.tar.xz`), { time, work }),
  ]
  for (const file of made) console.log(file)
})

function git(/** @type {string[]} */ ...args) {
  return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
}
