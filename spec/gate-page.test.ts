import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { CommandPlace, executable } from './fixtures/command.js'
import { makeRepository } from './fixtures/git.js'
import { chapter, codeBlocks } from './fixtures/page.js'
import { missing } from './fixtures/program.js'

const five = chapter('scripts/gate.md', '## Five minutes')
const [setUp = '', explain = ''] = codeBlocks(five, 'sh')
const [unseen = '', red = ''] = codeBlocks(five, 'text')

t.test('An admin, who is root there, asks as the owner of the repository: git trusts no other', async (t) => {
  t.match(explain, /^runuser -u git -- commit-status gate --explain /)
})

t.test('From nothing to a protected branch, as it is pasted', { skip: await missing('curl') }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const directory = await makeRepository(place.repositories, 'alice/hello')
  mkdirSync(join(directory, 'hooks'))
  const { url } = await place.serve(t)
  const [tokens, checkout] = [join(place.folder, 'etc'), join(place.folder, 'checkout')]
  mkdirSync(tokens)
  /** What a shell prints, whatever becomes of it. */
  const shell = async (script: string, folder = place.folder): Promise<string> => {
    const pasted = script
      .replaceAll('/srv/git', place.repositories)
      .replaceAll('/etc/commit-status', tokens)
      // Not every machine has this user.
      .replaceAll('install -o git ', 'install ')
      .replaceAll('runuser -u git -- git', 'command git')
      .replaceAll(/^runuser -u git -- (?=commit-status )/gm, '')
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll(/(^|exec |; )commit-status (?=access|token|gate)/gm, `$1${executable} `)
    const variables = [
      `PATH=${process.env['PATH'] ?? ''}`,
      'HOME=/nonexistent',
      'GIT_AUTHOR_NAME=A',
      'GIT_AUTHOR_EMAIL=a@example.com',
      'GIT_COMMITTER_NAME=A',
      'GIT_COMMITTER_EMAIL=a@example.com',
      `COMMIT_STATUS_REPOSITORIES=${place.repositories}`,
      `COMMIT_STATUS_STORE=level:${place.store}`,
    ]
    const { stdout } = await promisify(execFile)('env', ['-i', ...variables, 'bash', '-euc', `{ ${pasted}\n} 2>&1`], {
      cwd: folder,
    })
    return stdout
  }
  const [, token = ''] = /^(cst_\w+)$/m.exec(await shell(setUp)) ?? []
  await shell(`git init -q -b main ${checkout}; cd ${checkout}; git remote add origin ${directory}
git commit -q --allow-empty -m 'a fix'`)
  const sha = (await shell('git rev-parse HEAD', checkout)).trim()
  const push = async (): Promise<string> => {
    const said = await shell('git push -q origin HEAD:refs/heads/main || :', checkout)
    const lines = said.split('\n').filter((line) => line.startsWith('remote: commit-') || line.startsWith('remote:  '))
    return lines.map((line) => `${line.trimEnd()}\n`).join('')
  }
  t.equal(await push(), unseen.replace('820b950', sha.slice(0, 7)))
  await shell('git push -q origin HEAD:refs/heads/wip/fix', checkout)
  const report = async (body: string): Promise<string> =>
    await shell(`curl -s -H "Authorization: Bearer ${token}" -d '${body}' \\
  ${url}/api/v1/repos/alice/hello/statuses/${sha}`)
  t.match(await report('{"state":"success","context":"lint"}'), /the token may not report this context/)
  t.match(await report('{"state":"success","context":"build"}'), /"build"/)
  const failed = '{"state":"failure","context":"test/unit","description":"42 of 43 passed",'
  await report(`${failed}"target_url":"https://ci.example.com/7"}`)
  t.equal(await push(), red)
  t.equal(await shell(`${explain.trimEnd()} || :`, directory), red.replaceAll('remote: ', ''))
  await report('{"state":"success","context":"test/unit"}')
  t.equal(await push(), '')
  t.match(await shell(explain, directory), /refs\/heads\/main may be pushed/)
  t.equal((await shell('git rev-parse main', directory)).trim(), sha)
  t.match(await shell('git push -q origin :refs/heads/main || :', checkout), /deletion prohibited/)
})
