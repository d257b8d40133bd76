import { buildInfo } from '../../../lib/embedding/build-info.js'

/** `commit-status 0.2.0 (1234567)`: the version of the package, and the commit where a checkout was compiled. */
export function versionText(): string {
  const { version, commit } = buildInfo()
  return `commit-status ${version}${commit === undefined ? '' : ` (${commit})`}`
}
