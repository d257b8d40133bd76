import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { ok, type Finding } from './findings.js'

/** What dpkg knows of the Debian package. */
const FILES_OF_PACKAGE = '/var/lib/dpkg/info/commit-status.list'

/** How the program came to this machine, and whose Node.js it runs on: who brings its security releases. */
export function installation(
  folder = dirname(createRequire(import.meta.url).resolve('commit-status-service/package.json')),
  { filesOfPackage = FILES_OF_PACKAGE, node = process.execPath } = {},
): Finding {
  const version = `Node.js ${process.version.slice(1)}`
  return ok(
    'installed',
    isSame(node, join(folder, 'bin/node'))
      ? `${source(folder, filesOfPackage)}, on its own ${version}: a security release of it takes a new one`
      : `${source(folder, filesOfPackage)}, on the ${version} of this machine, ${node}`,
  )
}

function source(folder: string, filesOfPackage: string): string {
  const has = (name: string): boolean => existsSync(join(folder, name))
  if (has('.git')) return `as a checkout in ${folder}`
  if (basename(dirname(folder)) === 'node_modules') return `as an npm package in ${folder}`
  // config/Containerfile makes it.
  if (has('container')) return 'as a container image'
  if (listed(filesOfPackage).includes(join(folder, 'package.json'))) return 'as a Debian package'
  return has('bin/node') ? `from a tarball in ${folder}` : `as files in ${folder}`
}

function listed(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

function isSame(one: string, other: string): boolean {
  return existsSync(other) && realpathSync(one) === realpathSync(other)
}
