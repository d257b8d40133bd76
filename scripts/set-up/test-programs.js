import { execFile } from 'node:child_process'

/**
 * What some of the tests need besides, by Debian package, with a shell command that succeeds when it works. Each is
 * run: a file may be there without what it needs.
 */
export const testPrograms = Object.freeze({
  // Without a user's own set-up it answers little else.
  gitolite3: 'HOME=/nonexistent gitolite query-rc GL_BINDIR',
  postgresql:
    'for bin in /usr/lib/postgresql/*/bin; do $bin/initdb --version && $bin/postgres --version && exit; done; false',
  // It may be there where no process may be traced.
  strace: 'strace -e trace=none true',
  'util-linux': 'prlimit --version && setpriv --version',
  procps: 'ps --version',
  python3: 'python3 --version',
  'python3-aiosmtpd': '/usr/bin/python3 -c "import aiosmtpd"',
  openssl: 'openssl version',
  curl: 'curl --version',
  // Clients that the compatible APIs are tested with: Debian's own, whatever else has their names.
  gh: '/usr/bin/gh --version',
  hub: '/usr/bin/hub --version',
  'python3-github': '/usr/bin/python3 -c "import github"',
  'python3-gitlab': '/usr/bin/python3 -c "import gitlab"',
  'ruby-octokit': `/usr/bin/ruby -e 'require "octokit"'`,
  'ruby-gitlab': `/usr/bin/ruby -e 'require "gitlab"'`,
  'golang-go': '/usr/bin/go version',
  'golang-github-google-go-github-dev': goPackages('github.com/google/go-github/github', 'golang.org/x/oauth2'),
  'golang-github-xanzy-go-gitlab-dev': goPackages('github.com/xanzy/go-gitlab'),
  chromium: '/usr/bin/chromium --version',
  cgit: '/usr/lib/cgit/cgit.cgi --version',
  gitweb: '/usr/bin/perl -c /usr/share/gitweb/gitweb.cgi',
  'libcgi-pm-perl': '/usr/bin/perl -MCGI -e 1',
  // Its user gets a login shell in an /etc/passwd of its own, which takes the right to mount.
  'openssh-server': 'unshare --mount true && /usr/sbin/sshd -? 2>&1 | grep -q OpenSSH',
  'openssh-client': 'ssh -V',
  // The manual and the completion of shells, and the shells of CI agents.
  mandoc: 'command -v mandoc',
  zsh: 'zsh --version',
  fish: 'fish --version',
  'bash-completion': 'test -f /usr/share/bash-completion/bash_completion',
  dash: 'dash -c true',
  busybox: 'busybox sh -c true',
  shellcheck: 'shellcheck --version',
  // A tree of Debian, to try the package in.
  mmdebstrap: 'mmdebstrap --version',
  // Works without systemd as the first process.
  systemd: 'systemd-socket-activate --version && systemd-analyze --version',
  // A receiver of webhooks.
  webhook: 'webhook -version',
  nginx: 'PATH=$PATH:/usr/sbin nginx -v',
})

/** Finds the sources of packages, and of all that they import. */
function goPackages(/** @type {string[]} */ ...paths) {
  const environment = 'HOME="${HOME:-/tmp}" GO111MODULE=off GOPATH=/usr/share/gocode'
  return `${environment} /usr/bin/go list -deps ${paths.join(' ')}`
}

/** A program that does not end does not run. */
const MILLISECONDS = 20_000

/**
 * Whether a command for the shell succeeds.
 * @param {string} command
 * @returns {Promise<boolean>}
 */
export async function succeeds(command) {
  const script = `exec < /dev/null > /dev/null 2>&1; ${command}`
  return await new Promise((resolve) => {
    execFile('/bin/sh', ['-c', script], { timeout: MILLISECONDS, killSignal: 'SIGKILL' }, (error) => {
      resolve(error === null)
    })
  })
}
