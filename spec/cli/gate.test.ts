import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { executable } from '../fixtures/command.js'
import { listen } from '../fixtures/embedded.js'
import { GatedRepository, remoteLines } from '../fixtures/gated-repository.js'
import { handleGit } from '../fixtures/git-http.js'
import { Gitolite, gitoliteIsMissing } from '../fixtures/gitolite.js'

const NEEDS = 'commit-status: refs/heads/main needs build, test/*'

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`Nothing reaches a protected branch that is not green (${format})`, async (t) => {
    const gated = await GatedRepository.make(t, { format })
    const sha = await gated.commit()
    const unseen = await gated.push('HEAD:refs/heads/main')
    t.equal(unseen.status, 1)
    t.strictSame(remoteLines(unseen), [
      NEEDS,
      `  ${sha.slice(0, 7)} was never pushed here, so no check has seen it:`,
      '    git push origin HEAD:refs/heads/wip/fix, wait for the checks, push again',
    ])
    t.equal((await gated.git('-C', gated.directory, 'cat-file', '-e', sha)).status, 1, 'it leaves nothing behind')

    await gated.pushWip()
    t.strictSame(remoteLines(await gated.push('HEAD:refs/heads/main')), [
      NEEDS,
      '  build   no report yet',
      '  test/*  no report yet',
    ])
    await gated.report(sha, 'test/unit', 'failure', {
      description: '42 of 43 passed',
      target_url: 'https://ci.example.com/7',
    })
    await gated.report(sha, 'build', 'pending')
    await gated.report(sha, 'other', 'error')
    t.strictSame(remoteLines(await gated.push('HEAD:refs/heads/main')), [
      NEEDS,
      '  build      pending',
      '  test/unit  failure  42 of 43 passed  https://ci.example.com/7',
    ])
    t.equal(await gated.ref('refs/heads/main'), '')

    for (const context of ['build', 'test/unit']) await gated.report(sha, context, 'success')
    const green = await gated.push('HEAD:refs/heads/main')
    t.strictSame([green.status, remoteLines(green)], [0, []])
    t.equal(await gated.ref('refs/heads/main'), sha)

    // Several refs in one push: git itself refuses all of them, or with --atomic as well.
    const next = await gated.commit()
    await gated.pushWip()
    const both = await gated.push('HEAD:refs/heads/main', 'HEAD:refs/heads/free')
    t.equal(both.status, 1)
    t.equal(remoteLines(both)[0], NEEDS)
    t.strictSame([await gated.ref('refs/heads/main'), await gated.ref('refs/heads/free')], [sha, ''])
    t.equal((await gated.push('--atomic', 'HEAD:refs/heads/main', 'HEAD:refs/heads/free')).status, 1)
    t.equal((await gated.push('HEAD:refs/heads/free', `${sha}:refs/heads/free2`)).status, 0)
    t.equal((await gated.push('--force', `${next}:refs/heads/main`)).status, 1)

    // An annotated tag counts as the commit that it names, also one of a tag.
    await gated.configure('commit-status.refs/tags/v*.require', 'build')
    const tag = async (name: string, at: string) => {
      await gated.git('-C', gated.checkout, 'tag', '-a', '-m', name, name, at)
      return await gated.push(name)
    }
    t.equal((await tag('v1', sha)).status, 0)
    t.equal((await tag('v2', 'v1')).status, 0)
    t.equal((await tag('v3', next)).status, 1)
    t.equal((await tag('other', next)).status, 0)
    await gated.git('-C', gated.checkout, 'tag', 'v4', `${sha}^{tree}`)
    t.match(remoteLines(await gated.push('v4')), [
      /^commit-status: refs\/tags\/v4 is refused: [0-9a-f]{7} names no commit$/,
    ])
    await gated.configure('receive.denyDeleteCurrent', 'ignore')
    t.equal((await gated.push(':refs/heads/main')).status, 0, 'deleting is for git to forbid')
  })
}

t.test('In an update hook each ref is judged by itself', async (t) => {
  const gated = await GatedRepository.make(t, { hook: 'update' })
  const sha = await gated.commit()
  const pushed = await gated.push('HEAD:refs/heads/main', 'HEAD:refs/heads/free')
  t.equal(pushed.status, 1)
  t.strictSame(remoteLines(pushed).slice(0, 3), [NEEDS, '  build   no report yet', '  test/*  no report yet'])
  t.strictSame([await gated.ref('refs/heads/main'), await gated.ref('refs/heads/free')], ['', sha])
  for (const context of ['build', 'test/x']) await gated.report(sha, context, 'success')
  t.equal((await gated.push('HEAD:refs/heads/main')).status, 0)
})

t.test('The rules come from each of git’s files, and add up', async (t) => {
  const gated = await GatedRepository.make(t)
  const sha = await gated.commit()
  await gated.pushWip()
  for (const context of ['build', 'test/x']) await gated.report(sha, context, 'success')
  const push = async () => remoteLines(await gated.push('HEAD:refs/heads/main'))
  writeFileSync(
    join(gated.place.folder, '.gitconfig'),
    '[commit-status "refs/heads/*"]\n\trequire = lint\n\tstale = 6h\n',
  )
  t.match(await push(), [
    'commit-status: refs/heads/main needs lint, build, test/*, pending for 6h at most',
    '  lint  no report yet',
  ])
  t.equal((await gated.push('HEAD:refs/heads/new')).status, 1, 'a new branch is one too')
  await gated.report(sha, 'lint', 'success')
  writeFileSync(join(gated.place.folder, 'more'), '[commit-status "refs/heads/main"]\n\tby = ci\n')
  await gated.configure('include.path', join(gated.place.folder, 'more'))
  t.match((await push())[0], /needs lint, build, test\/\*, by ci, pending/)
  t.ok((await push()).includes('  build was reported last by alice, not by ci'))
  appendFileSync(join(gated.place.folder, 'more'), '\tby = alice\n')
  const system = join(gated.place.folder, 'system')
  writeFileSync(system, '[commit-status "refs/heads/ma*"]\n\trequire = audit\n')
  // A git that was built with the system's file elsewhere.
  const bin = join(gated.place.folder, 'bin')
  mkdirSync(bin)
  const variables = `GIT_CONFIG_NOSYSTEM=0 GIT_CONFIG_SYSTEM=${system} PATH=\${PATH#*:}`
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nexec env ${variables} git "$@"\n`, { mode: 0o755 })
  const hook = `#!/bin/sh\nPATH=${bin}:$PATH exec ${executable} gate\n`
  writeFileSync(join(gated.directory, 'hooks/pre-receive'), hook)
  t.match((await push())[0], /needs audit, lint, build, test\/\*, by ci or alice, pending/)
  await gated.report(sha, 'audit', 'success')
  t.strictSame(await push(), [])
  t.equal(await gated.ref('refs/heads/main'), sha)
})

t.test('A section without a variable is no rule: git does not tell of it', async (t) => {
  const gated = await GatedRepository.make(t)
  await gated.commit()
  appendFileSync(join(gated.directory, 'config'), '[commit-status "refs/heads/all"]\n')
  t.equal((await gated.push('HEAD:refs/heads/all')).status, 0)
  await gated.commit()
  await gated.configure('commit-status.refs/heads/all.require', '*')
  t.match(remoteLines(await gated.push('HEAD:refs/heads/all'))[0], /refs\/heads\/all needs \*/)
})

t.test('What may be created need not be green the first time', async (t) => {
  const gated = await GatedRepository.make(t)
  await gated.configure('commit-status.refs/heads/main.allowCreate', 'true')
  await gated.commit()
  t.equal((await gated.push('HEAD:refs/heads/main')).status, 0)
  await gated.commit()
  t.equal((await gated.push('HEAD:refs/heads/main')).status, 1)
  await gated.configure('commit-status.refs/heads/*.require', 'build')
  await gated.configure('receive.denyDeleteCurrent', 'ignore')
  t.equal((await gated.push(':refs/heads/main')).status, 0)
  t.equal((await gated.push('HEAD:refs/heads/main')).status, 1, 'all rules must allow it')
})

t.test('What is wrong with a rule, the address or the token refuses what it protects, and says so', async (t) => {
  const gated = await GatedRepository.make(t)
  await gated.commit()
  let pushes = 0
  const set = async (key: string, value: string, words: RegExp, free = 0) => {
    await gated.git('-C', gated.directory, 'config', '--replace-all', key, value)
    const pushed = await gated.push('HEAD:refs/heads/main')
    t.match([pushed.status, remoteLines(pushed).join('\n')], [1, words])
    t.equal((await gated.push(`HEAD:refs/heads/free${++pushes}`)).status, free, `${key}: what no rule protects`)
    await gated.git('-C', gated.directory, 'config', '--unset-all', key)
  }
  const { url, tokenFile } = gated
  await set('commit-status.refs/heads/main.requires', 'x', /refs\/heads\/main: there is no requires in a rule/)
  await set('commit-status.refs/heads/main.allowCreate', 'maybe', /allowCreate is true or false, not "maybe"/)
  await set('commit-status.refs/heads/main.stale', 'soon', /refs\/heads\/main: stale must be like/)
  await set('commit-status.required', 'build', /there is no setting commit-status\.required/, 1)
  await set('commit-status.main.require', 'build', /the rule "main" protects nothing/, 1)
  await set('commit-status.repository', 'hello', /set commit-status\.repository to <owner>\/<repo>: hello does not/)
  await set('commit-status.url', 'ftp://x', /commit-status\.url must be like https:/)
  await set('commit-status.url', 'http://user:secret@x', /commit-status\.url must be like https:/)
  t.match(remoteLines(await gated.push('HEAD:refs/heads/main')), [/commit-status\.url is not set/])
  await gated.configure('commit-status.url', url)
  await set('commit-status.tokenFile', '/nonexistent', /the token cannot be read: ENOENT/)
  t.match(remoteLines(await gated.push('HEAD:refs/heads/main')), [/commit-status\.tokenFile is not set/])
  writeFileSync(`${tokenFile}2`, 'cst_wrong')
  await set('commit-status.tokenFile', `${tokenFile}2`, /answers 401 \(invalid or expired token\)/)
  execFileSync('mkfifo', [`${tokenFile}3`])
  await set('commit-status.tokenFile', `${tokenFile}3`, /gate\.token3 is no token/)
  await gated.configure('commit-status.tokenFile', tokenFile)
  await set('commit-status.repository', 'alice/none', /answers 404 \(repository not found: alice\/none\)/)
})

t.test('A service that hangs, fails, redirects or is another program refuses, within 5 seconds', async (t) => {
  const gated = await GatedRepository.make(t)
  await gated.commit()
  await gated.pushWip()
  /** Success, by these states. */
  const judged = (states: Readonly<Record<string, string>>): string => {
    const required = Object.entries(states).map(([require, state]) => ({ require, state }))
    const text = JSON.stringify({ verdict: 'success', required })
    return `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  }
  const answers: [string, string, RegExp][] = [
    ['hangs', '', /cannot be reached: no answer in time/],
    [
      'fails',
      'HTTP/1.1 500 X\r\nContent-Length: 26\r\n\r\n{"error":"internal error"}\n',
      /answers 500 \(internal error\)/,
    ],
    [
      'redirects',
      'HTTP/1.1 302 X\r\nLocation: http://evil.example\r\nContent-Length: 0\r\n\r\n',
      /answers 302, not as a/,
    ],
    [
      'is another',
      'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n<html>hi</html',
      /does not answer as a commit-status service/,
    ],
    [
      'says success',
      'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"verdict":"success"}',
      /does not answer as a commit-status/,
    ],
    [
      'says 404',
      'HTTP/1.1 404 X\r\nContent-Length: 38\r\n\r\n{"error":"\\u001b[2Jgone\\u202e away"}\n\n',
      /answers 404 \(\\u\{1b\}\[2Jgone\\u\{202e\}/,
    ],
    ['judges nothing', judged({}), /answers what was not asked/],
    ['judges something else', judged({ build: 'success', other: 'success' }), /answers what was not asked/],
    ['contradicts itself', judged({ build: 'success', 'test/*': 'failure' }), /answers what was not asked/],
    ['is gone', 'gone', /cannot be reached: /],
  ]
  for (const [name, answer, words] of answers) {
    let held = 0
    const server = createServer((request) => {
      const asked = performance.now()
      request.socket.once('close', () => (held = Math.max(held, performance.now() - asked)))
      if (answer === 'gone') request.socket.destroy()
      else if (answer !== '') request.socket.end(answer)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await gated.git('-C', gated.directory, 'config', '--replace-all', 'commit-status.url', url)
    const pushed = await gated.push('HEAD:refs/heads/main')
    t.match([pushed.status, remoteLines(pushed).join('\n')], [1, words], name)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    // From the question on; before it, and after it, git and node take their time.
    t.ok(held < 5_000, name)
  }
})

t.test('Texts of statuses steer no terminal, and are not endless', async (t) => {
  const gated = await GatedRepository.make(t)
  const sha = await gated.commit()
  await gated.pushWip()
  await gated.report(sha, 'build\n\u001b[2J', 'success')
  await gated.report(sha, 'test/\u001b]0;x\u0007', 'failure', {
    description: `\u001b[31m\u202e${'x'.repeat(1000)}\nremote: ok`,
  })
  for (let n = 0; n < 40; n++) await gated.report(sha, `test/${n}`, 'error')
  const pushed = await gated.push('HEAD:refs/heads/main')
  const lines = remoteLines(pushed)
  t.equal(lines.length, 22)
  t.equal(lines.at(-1), '  …')
  t.notMatch(lines.join('\n').replaceAll('\u001b[K', ''), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  t.ok(Math.max(...lines.map((line) => line.length)) < 800)
})

t.test('gate --explain says what would happen, and why', async (t) => {
  const gated = await GatedRepository.make(t)
  const sha = await gated.commit()
  await gated.pushWip()
  const explain = async (...args: string[]) =>
    await gated.place.run(['gate', '--explain', ...args], { directory: gated.directory })
  t.strictSame(await explain('refs/heads/free', sha), {
    status: 0,
    stdout:
      'refs/heads/free is not protected: no rule matches it (a section without a variable in it is none to git)\n',
    stderr: '',
  })
  t.strictSame(await explain('refs/heads/main', sha), {
    status: 1,
    stdout: `${NEEDS}\n  build   no report yet\n  test/*  no report yet\n`,
    stderr: '',
  })
  for (const context of ['build', 'test/x']) await gated.report(sha, context, 'success')
  t.strictSame(await explain('refs/heads/main', sha), {
    status: 0,
    stdout:
      `refs/heads/main may be pushed to ${sha.slice(0, 7)}\n  rules       refs/heads/main\n` +
      `  needs       build, test/*\n  repository  alice/hello, at ${gated.url}\n  verdict     success\n`,
    stderr: '',
  })
  // As git does: a short name is that of a branch or tag, and a revision is any.
  await gated.git('-C', gated.directory, 'tag', 'v1', 'wip')
  for (const revision of [sha.slice(0, 7), 'wip', 'refs/heads/wip', 'v1', 'wip~0', ':/a commit'])
    for (const ref of ['main', 'heads/main'])
      t.match(await explain(ref, revision), {
        status: 0,
        stdout: `refs/heads/main may be pushed to ${sha.slice(0, 7)}\n`,
      })
  t.match((await explain('v1', 'wip')).stdout, /^refs\/tags\/v1 is not protected/)
  t.match((await explain('v2', 'wip')).stdout, /^refs\/heads\/v2 is not protected/)
  await gated.configure('commit-status.refs/heads/wip.require', 'lint')
  t.match(await explain('wip', 'wip'), { status: 1, stdout: /^commit-status: refs\/heads\/wip needs lint/ })
  await gated.git('-C', gated.directory, 'tag', 'wip', 'wip')
  t.match(await explain('wip', sha), { status: 2, stderr: /^commit-status: wip is more than one ref: refs\/heads\/w/ })
  const absent = sha.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const revision of ['none', absent, `${sha}0`, 'main..wip', '^wip', '', 'wip:none'])
    t.match(await explain('main', revision), {
      status: 2,
      stdout: '',
      stderr: `commit-status: ${JSON.stringify(revision)} is no revision of this repository\n`,
    })
  for (const ref of ['ma?n', 'refs/heads/main/', 'refs/main', 'HEAD', ''])
    t.match(await explain(ref, 'wip'), { status: 2, stderr: /^commit-status: ".*" is no ref that can be pushed to/ })
  t.match(await gated.place.run(['gate', '--explain', 'main', 'wip'], { directory: '/' }), {
    status: 2,
    stderr: /^commit-status: git says: fatal: not a git repository/,
  })
  t.match(await explain('refs/heads/main'), { status: 2, stderr: /give a ref and what would be pushed to it/ })
  t.match(await gated.place.run(['gate', 'refs/heads/main']), { status: 2, stderr: /a ref comes with its id before/ })
})

t.test('Push options, and a push over git http-backend', async (t) => {
  const gated = await GatedRepository.make(t)
  const sha = await gated.commit()
  await gated.pushWip()
  await gated.configure('receive.advertisePushOptions', 'true')
  t.equal((await gated.push('-o', 'commit-status.skip=1', 'HEAD:refs/heads/main')).status, 1)
  await gated.configure('http.receivepack', 'true')

  const base = await listen(t, handleGit(gated.place.repositories))
  const push = async () =>
    await gated.git('-C', gated.checkout, 'push', '--quiet', `${base}/alice/hello.git`, 'HEAD:refs/heads/main')
  t.equal(remoteLines(await push())[0], NEEDS)
  for (const context of ['build', 'test/x']) await gated.report(sha, context, 'success')
  t.match(await push(), { status: 0 })
  t.equal(await gated.ref('refs/heads/main'), sha)
})

t.test('As a VREF of gitolite', { skip: gitoliteIsMissing }, async (t) => {
  const gated = await GatedRepository.make(t)
  const home = join(gated.place.folder, 'gitolite')
  mkdirSync(home)
  const rules = '    RW+ = alice\n    -   VREF/commit-status = @all\n'
  const gitolite = new Gitolite(home, `\nrepo hello\n${rules}\nrepo team/sub/deep\n${rules}`)
  mkdirSync(join(home, 'local/VREF'), { recursive: true })
  const vref = join(home, 'local/VREF/commit-status')
  writeFileSync(vref, `#!/bin/sh\nexec ${executable} gate "$@"\n`)
  chmodSync(vref, 0o755)
  const rc = join(home, '.gitolite.rc')
  execFileSync('sed', ['-i', `s|^%RC = (|%RC = ( LOCAL_CODE => "${home}/local",|`, rc])
  // What gitolite has, the service serves; nothing but gitolite names the folder to the hook.
  for (const name of ['hello.git', 'team'])
    symlinkSync(join(gitolite.repositories, name), join(gated.place.repositories, name))
  for (const owner of ['git', 'team']) await gated.place.run(['access', 'grant', owner, 'alice', 'write'])
  for (const [key, value] of [
    ['url', gated.url],
    ['tokenFile', gated.tokenFile],
    ['refs/heads/main.require', 'build'],
  ] as const)
    await gated.git('config', '--file', join(home, '.gitconfig'), `commit-status.${key}`, value)
  const sha = await gated.commit()
  // As gitolite's shell runs git for a user who has come over ssh.
  const shell = join(gated.place.folder, 'ssh')
  writeFileSync(
    shell,
    `#!/bin/sh\nshift\nexport HOME=${home} SSH_ORIGINAL_COMMAND="$*" SSH_CONNECTION="127.0.0.1 1 127.0.0.1 2"\n` +
      'exec /usr/share/gitolite3/gitolite-shell alice\n',
  )
  chmodSync(shell, 0o755)
  const push = async (ref: string, repository: string) =>
    await gated.git(
      '-C',
      gated.checkout,
      '-c',
      `core.sshCommand=${shell}`,
      '-c',
      'ssh.variant=simple',
      'push',
      '--quiet',
      `git@host:${repository}`,
      ref,
    )
  for (const [repository, address] of [
    ['hello', 'git/hello'],
    ['team/sub/deep', 'team/sub%2Fdeep'],
  ] as const) {
    t.match(await push('HEAD:refs/heads/free', repository), { status: 0 })
    const refused = await push('HEAD:refs/heads/main', repository)
    t.match(refused.stderr, /commit-status: refs\/heads\/main needs build *\n.*build +no report yet/)
    t.equal(refused.status, 1)
    await gated.reportOn(address, sha)
    t.match(await push('HEAD:refs/heads/main', repository), { status: 0 })
  }
})
