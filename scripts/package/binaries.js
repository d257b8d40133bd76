import { execFileSync } from 'node:child_process'
import { SetUpFailure } from '../set-up/failure.js'

/** The newest versions that Debian 12 and Ubuntu 22.04 both have, by the beginning of a symbol's version. */
const NEWEST = { GLIBC: '2.34', GLIBCXX: '3.4.30', CXXABI: '1.3.13' }

/** Debian's packages of the libraries that may be linked to. */
const PACKAGES = new Map([
  ['libc.so.6', `libc6 (>= ${NEWEST.GLIBC})`],
  ['libm.so.6', ''],
  ['libdl.so.2', ''],
  ['libpthread.so.0', ''],
  ['librt.so.1', ''],
  ['ld-linux-x86-64.so.2', ''],
  ['ld-linux-aarch64.so.1', ''],
  ['libgcc_s.so.1', 'libgcc-s1'],
  ['libstdc++.so.6', 'libstdc++6 (>= 12)'],
  ['libz.so.1', 'zlib1g'],
  ['libatomic.so.1', 'libatomic1'],
])

/**
 * Looks into what was built or downloaded, whether older systems can load it.
 * @param {string[]} files
 * @returns {string[]} the Debian packages that they need
 */
export function linkedLibraries(files) {
  /** @type {Set<string>} */
  const needed = new Set()
  for (const file of files) {
    const headers = execFileSync('objdump', ['-p', file], { encoding: 'utf8' })
    for (const [, library = ''] of headers.matchAll(/^ +NEEDED +(\S+)$/gm)) {
      const name = PACKAGES.get(library)
      if (name === undefined) throw new Error(`${file} is linked to ${library}, which no package is known for`)
      if (name !== '') needed.add(name)
    }
    for (const [kind, newest] of Object.entries(NEWEST))
      for (const [, version = ''] of headers.matchAll(new RegExp(`\\b${kind}_([\\d.]+)$`, 'gm')))
        if (version.localeCompare(newest, 'en', { numeric: true }) > 0)
          throw new SetUpFailure(`${file} needs ${kind} ${version}, and older systems have ${newest}`, {
            mend: 'make the package on Debian 12, or another system that is as old',
          })
  }
  return [...needed].sort()
}
