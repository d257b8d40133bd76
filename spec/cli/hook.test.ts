import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { CommandPlace } from '../fixtures/command.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

const DONE = { status: 0, stdout: '', stderr: '' }

async function receiver(t: Test, answer: { status: number }): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(answer.status).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a/secret`
}

t.test('A webhook is made, tested, listed, paused, resumed, rotated and deleted', async (t) => {
  const answer = { status: 200 }
  const url = await receiver(t, answer)
  const place = new CommandPlace(t.testdir())
  const made = await place.run(['hook', 'create', 'alice/*', url, '--states', 'failure', '--contexts', 'ci/*'])
  const [words = '', secret = ''] = made.stdout.trimEnd().split('\n')
  t.match(secret, /^whsec_\S+$/, 'alone on the last line')
  const id = /^Hook (\S+) on alice\/\* to http:\/\/127\.0\.0\.1:\d+\/…\. Its secret is shown/.exec(words)?.[1] ?? ''
  const listed = await place.run(['hook', 'list'])
  t.match(listed.stdout, /^ID +ON +RECEIVER +FORMAT +EVENTS +STATE +WAITING +ONLY\n/)
  t.match(listed.stdout, new RegExp(`${id} +alice/\\* +http://127.0.0.1:\\d+/… +github +status +active +0 +contexts`))
  t.match(listed.stdout, 'contexts: ci/*; states: failure')
  t.strictSame(await place.run(['hook', 'list', '*']), DONE)
  t.strictSame(await place.run(['hook', 'log', id]), DONE)
  t.match(await place.run(['hook', 'test', id]), { status: 0, stdout: /ping +ok +200 / })
  answer.status = 500
  t.match(await place.run(['hook', 'test', id, '--json']), { status: 1, stdout: /"result":"failed","status":500/ })
  t.strictSame(await place.run(['hook', 'pause', id]), DONE)
  t.match((await place.run(['hook', 'list', 'alice/*'])).stdout, / paused /)
  t.strictSame(await place.run(['hook', 'resume', id]), DONE)
  t.match(await place.run(['hook', 'resend', id, '--since', '1d']), { status: 0, stdout: '0 deliveries\n' })
  const rotated = await place.run(['hook', 'rotate', id])
  t.match(rotated.stdout, /^whsec_\S+\n$/)
  t.notMatch(rotated.stdout, secret)
  t.strictSame(await place.run(['hook', 'delete', id]), DONE)
  t.match(await place.run(['hook', 'delete', id]), { status: 1, stderr: `commit-status: there is no hook ${id}\n` })
})

t.test('What was not kept for a webhook is said when it goes on', async (t) => {
  const place = new CommandPlace(t.testdir())
  for (const [event, notes] of [
    ['status', 1],
    ['push', 2],
  ] as const) {
    const url = 'https://ci.example.com/x'
    const made = await place.run(['hook', 'create', '*', url, '--events', event, '--json'])
    const { id } = JSON.parse(made.stdout) as { id: string }
    const store = await LevelStore.open(place.store)
    const since = '2026-01-31T12:00:00.000Z'
    await store.hooks.update(id, (hook) => ({ ...hook, state: 'stopped', behind_since: since }))
    await store.close()
    const { status, stderr } = await place.run(['hook', 'resume', id], { notes: true })
    t.equal(status, 0)
    const lines = stderr.trimEnd().split('\n')
    t.equal(lines.length, notes)
    t.match(lines[0], `nothing of ${since} and later was kept: commit-status hook resend ${id} --since ${since}`)
    if (event === 'push') t.match(lines[1], /makes no pushes again/)
  }
})

t.test('Where more is to be made again than may wait, it is said where to go on', async (t) => {
  const place = new CommandPlace(t.testdir())
  const made = await place.run(['hook', 'create', '*', 'https://ci.example.com/x', '--json'])
  const { id } = JSON.parse(made.stdout) as { id: string }
  const store = await LevelStore.open(place.store)
  const [repository, at] = [repositoryNamed('alice/hello'), Date.UTC(2026, 0, 31, 12)]
  await store.statuses.save(repository, commitId('1'), reportOf('ci'), at)
  const entry = { hook: id, repository, delivery: 'x', since: new Date(at).toISOString(), from: null }
  const subjects = Array.from({ length: 5000 }, (_, index) => `${commitId('2').hex}/${index}`)
  await store.hooks.outbox.add(subjects.map((subject) => ({ ...entry, subject })))
  await store.close()
  const { stdout, stderr } = await place.run(['hook', 'resend', id, '--since', '2026-01-01'], { notes: true })
  t.equal(stdout, '0 deliveries\n')
  t.match(stderr, `once these are told, commit-status hook resend ${id} --since ${entry.since}\n`)
})

t.test('A webhook on a repository that is not there is made, and that is said', async (t) => {
  const place = new CommandPlace(t.testdir())
  await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  for (const [on, words] of [
    ['alice/typo', 'there is no repository alice/typo yet'],
    ['bob/*', 'there is no repository of bob yet'],
    ['alice/hello', undefined],
    ['alice/*', undefined],
    ['*', undefined],
  ] as const) {
    const made = await place.run(['hook', 'create', on, 'https://ci.example.com/x'], { notes: true })
    t.match(made.stdout, /\nwhsec_\S+\n$/)
    t.strictSame(/there is no repository.*/.exec(made.stderr)?.[0], words, on)
  }
})

t.test('The receiver may dictate the secret, in a file', async (t) => {
  const place = new CommandPlace(t.testdir())
  const file = join(place.folder, 'secret')
  writeFileSync(file, 'dictated-by-the-receiver\n')
  const made = await place.run(['hook', 'create', '*', 'https://ci.example.com/x', '--secret-file', file, '--json'])
  const { id, secret } = JSON.parse(made.stdout) as { id: string; secret: string | null }
  t.equal(secret, null)
  t.strictSame(await place.run(['hook', 'rotate', id, '--secret-file', file]), DONE)
  t.match(await place.run(['hook', 'create', '*', 'https://ci.example.com/x', '--secret-file', file]), {
    stdout: /^Hook \S+ on \* to https:\/\/ci\.example\.com\/…\.\n$/,
  })
  t.match(await place.run(['hook', 'rotate', id, '--secret-file', join(place.folder, 'none')]), {
    status: 2,
    stderr: /the secret cannot be read/,
  })
  t.match(await place.run(['hook', 'create', '*', 'ftp://x']), { status: 2, stderr: /http or https/ })
  t.match(await place.run(['hook', 'create', '*', 'https://x', '--events', 'x']), { status: 2, stderr: /no event "x"/ })
  t.match(await place.run(['hook', 'resend', id]), { status: 2, stderr: /--since/ })
})
