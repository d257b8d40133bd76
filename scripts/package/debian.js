import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { root } from '../set-up/checkout.js'
import { readJson } from '../set-up/json.js'
import { manual } from './manual.js'
import { filesIn, write } from './tree.js'

const HOME = 'usr/lib/commit-status'
const SETTINGS = 'etc/commit-status/settings.json'
/** All else is as by default, and stays so when a new version has other defaults. */
const FIRST_SETTINGS = {
  ...{ host: '127.0.0.1', port: 8080 },
  ...{ repositories: '/srv/git', store: 'level:/var/lib/commit-status/store', trustedProxies: [] },
  hooks: { secretFile: '/var/lib/commit-status/hooks.secret' },
}

/** Where Debian's shells look for completions. */
const COMPLETIONS = {
  bash: 'bash-completion/completions',
  zsh: 'zsh/vendor-completions',
  fish: 'fish/vendor_completions.d',
}

/** Debian wants an address in every package; nobody publishes this one. */
const ADDRESS = 'commit-status@commit-status.invalid'

const ours = (/** @type {string} */ name) => join(root, 'scripts/package/debian', name)

/**
 * Makes a Debian package of the tree: of the same bytes for the same tree and time.
 * @param {import('./tree.js').Tree} tree
 * @param {string} file
 * @param {{ version: string, architecture: string, time: number, work: string }} options
 * @returns {string} the file
 */
export function makeDebianPackage(tree, file, { version, architecture, time, work }) {
  const to = join(work, 'debian')
  cpSync(tree.folder, join(to, HOME), { recursive: true })
  mkdirSync(join(to, 'usr/bin'), { recursive: true })
  symlinkSync('../lib/commit-status/scripts/commit-status', join(to, 'usr/bin/commit-status'))
  for (const unit of ['commit-status.service', 'commit-status.socket'])
    place(join(root, 'config', unit), join(to, 'usr/lib/systemd/system', unit))
  for (const kind of ['sysusers', 'tmpfiles'])
    place(ours(`${kind}.conf`), join(to, `usr/lib/${kind}.d/commit-status.conf`))
  write(join(to, SETTINGS), `${JSON.stringify(FIRST_SETTINGS, null, 2)}\n`, 0o640)
  place(ours('lintian-overrides'), join(to, 'usr/share/lintian/overrides/commit-status'))
  const documents = join(to, 'usr/share/doc/commit-status')
  write(join(documents, 'copyright'), copyright(tree))
  place(join(root, 'config/loopback-only.conf'), join(documents, 'examples/loopback-only.conf'))
  write(join(documents, 'changelog.gz'), packed(changelog(version, time)))
  for (const [file, text] of manual(tree, COMPLETIONS)) {
    const isPage = file.startsWith('man/')
    write(join(to, 'usr/share', isPage ? `${file}.gz` : file), isPage ? packed(text) : text)
  }

  for (const script of ['postinst', 'prerm', 'postrm']) place(ours(script), join(to, 'DEBIAN', script), 0o755)
  write(join(to, 'DEBIAN/conffiles'), `/${SETTINGS}\n`)
  write(join(to, 'DEBIAN/md5sums'), sums(to))
  write(join(to, 'DEBIAN/control'), control(tree, { version, architecture }))
  // dpkg-deb clamps times to SOURCE_DATE_EPOCH, and leaves older ones as they are.
  execFileSync('find', [to, '-exec', 'touch', '--no-dereference', `--date=@${time}`, '{}', '+'])
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z3', '--threads-max=1', '--build', to, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return file
}

function place(/** @type {string} */ from, /** @type {string} */ to, mode = 0o644) {
  write(to, readFileSync(from), mode)
}

/** @param {import('./tree.js').Tree} tree */
function control(
  { libraries, node, folder },
  /** @type {Record<string, string>} */ { version = '', architecture = '' },
) {
  const { author } = readJson(join(root, 'package.json'))
  const size = execFileSync('du', ['--apparent-size', '-sk', folder], { encoding: 'utf8' }).split('\t')[0]
  const users = 'systemd | systemd-standalone-sysusers | systemd-sysusers'
  return `Package: commit-status
Version: ${version}
Architecture: ${architecture}
Maintainer: ${String(author)} <${ADDRESS}>
Installed-Size: ${size}
Depends: ${[...libraries, 'git', users].join(', ')}
Section: vcs
Priority: optional
Description: commit statuses for a self-hosted git server
 It records and serves check results for the bare repositories of a git server.
 A CI agent reports success or failure of a check on a commit; people, merge
 bots and pages read every check and one combined state, over an API of its own
 and those of GitHub, Gitea and GitLab. It runs on the Node.js ${node} that it
 brings along.
`
}

/** The licence of every package in it. @param {import('./tree.js').Tree} tree */
function copyright({ folder }) {
  const licence = readFileSync(join(root, 'LICENSE'), 'utf8')
  const packages = filesIn(folder)
    .filter((file) => /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    .flatMap((file) => {
      const { name, license } = readJson(join(folder, file))
      return name === undefined ? [] : [` /${HOME}/${dirname(file)}: ${String(license)}`]
    })
  return `commit-status

${licence}
It brings along other programs, each with its own licence beside it, in files named LICENSE*:

 /${HOME}/bin/node: MIT and others, LICENSE
 /${HOME}/node_modules/nodegit (libgit2): GPL-2 with a linking exception, LICENSE.libgit2; the GPL is in
  /usr/share/common-licenses/GPL-2
${[...new Set(packages)].join('\n')}
`
}

/** In Debian's form; what a version changes is in the changelog of the program. */
function changelog(/** @type {string} */ version, /** @type {number} */ time) {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000')
  return `commit-status (${version}) stable; urgency=medium

  * /${HOME}/CHANGELOG.md says what this version changes.

 -- ${String(readJson(join(root, 'package.json'))['author'])} <${ADDRESS}>  ${date}
`
}

/** As `gzip -9n`, without a time. */
function packed(/** @type {string} */ text) {
  return gzipSync(text, { level: 9 })
}

function sums(/** @type {string} */ folder) {
  return filesIn(folder)
    .filter((file) => !file.startsWith('DEBIAN/') && !file.startsWith('etc/'))
    .map(
      (file) =>
        `${createHash('md5')
          .update(readFileSync(join(folder, file)))
          .digest('hex')}  ${file}\n`,
    )
    .join('')
}
