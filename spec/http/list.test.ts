import t from 'tap'
import { git, gitWithInput, makeCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'
import type { Answer } from '../fixtures/service.js'

const contexts = ({ body }: Answer): unknown[] =>
  (body['statuses'] as { context: unknown }[]).map(({ context }) => context)

t.test('200 with the combined state and the statuses, fields as in the report response', async (t) => {
  const { report, list } = await hostCommit(t)
  const build = await report({
    state: 'failure',
    context: 'build',
    description: 'broken',
    target_url: 'https://ci.example/1',
  })
  const lint = await report({ state: 'success', context: 'lint' })
  const answer = await list()
  t.equal(answer.status, 200)
  t.strictSame(answer.body, { state: 'failure', statuses: [build.body, lint.body] }, 'these members and no other')
})

t.test('statuses are ordered by context: by UTF-8 bytes, whatever the order of the reports', async (t) => {
  const { report, list } = await hostCommit(t)
  const sent = [
    'b',
    'a/b',
    'a',
    'B',
    'a b',
    'a!',
    'é',
    'e\u0301',
    '~',
    '\u007f',
    '\u{1f600}',
    '\uff5e',
    '\ud7ff',
    '\u{10ffff}',
    'ci/2',
    'ci/10',
    ' ',
    '\uffff',
    '\uffffx',
    'a\u0001',
    '/',
    '!',
    'default',
  ]
  for (const context of sent)
    t.equal((await report({ state: 'success', context })).status, 201, JSON.stringify(context))
  const expected = [...sent].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  t.strictSame(contexts(await list()), expected)
  t.ok(expected.indexOf('\uff5e') < expected.indexOf('\u{1f600}'), 'U+FF5E stands before U+1F600, though not in UTF-16')
})

t.test('There is no paging: the list holds every context', async (t) => {
  const { report, list } = await hostCommit(t)
  const sent = Array.from({ length: 300 }, (_, index) => `check ${String(index).padStart(3, '0')}`)
  const answers = await Promise.all(sent.map(async (context) => await report({ state: 'success', context })))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
  t.strictSame(contexts(await list()), sent)
})

t.test('A commit that exists but has no statuses gives 200 with empty statuses and state null', async (t) => {
  const { service, directory, report } = await hostCommit(t)
  await report({ state: 'failure' })
  const other = await makeCommit(directory, 'nothing has reported on this one')
  const answer = await service.list('alice/hello', other)
  t.equal(answer.status, 200)
  t.strictSame(answer.body, { state: null, statuses: [] })
})

t.test('No query parameters are shown: whatever is sent changes nothing', async (t) => {
  const { service, report, listPath, list } = await hostCommit(t)
  await report({ state: 'success' })
  const expected = (await list()).text
  for (const query of ['?', '?page=2&per_page=1', '?state=failure', '?%zz', '?/../'])
    t.equal((await service.call('GET', listPath + query)).text, expected, query)
})

t.test('The commit exists in the repository, else 404 commit not found', async (t) => {
  for (const format of ['sha1', 'sha256'] as const) {
    const { service, sha, token, directory, stored } = await hostCommit(t, { format })
    const blob = await gitWithInput('hello', '-C', directory, 'hash-object', '-w', '--stdin')
    const tree = await git('-C', directory, 'rev-parse', `${sha}^{tree}`)
    await git('-C', directory, 'tag', '-a', '-m', 'a tag', 'v1', sha)
    const tag = await git('-C', directory, 'rev-parse', 'refs/tags/v1')
    t.not(tag, sha)
    const otherLength = sha.length === 40 ? [sha.padEnd(64, '0'), 'a'.repeat(64)] : [sha.slice(0, 40), 'a'.repeat(40)]
    const flipped = (sha.startsWith('0') ? '1' : '0') + sha.slice(1)
    const none = {
      'an unknown commit': ['0'.repeat(sha.length), 'f'.repeat(sha.length), flipped],
      'a full id of the other length': otherLength,
      'a tree': [tree],
      'a blob': [blob],
      'an annotated tag': [tag],
    }
    for (const [what, ids] of Object.entries(none)) {
      for (const id of ids) {
        refused(t, await service.list('alice/hello', id), 404, 'commit not found', `list: ${what}, ${format}`)
        refused(
          t,
          await service.list('alice/hello', id.toUpperCase(), token),
          404,
          'commit not found',
          `list, upper case: ${what}, ${format}`,
        )
        refused(
          t,
          await service.report('alice/hello', id, token, { state: 'success' }),
          404,
          'commit not found',
          `report: ${what}, ${format}`,
        )
      }
    }
    t.strictSame(await stored(), [], 'nothing was saved')
    await service.close()
  }
})

t.test('A commit that is pushed later is found at once', async (t) => {
  const { service, directory, token } = await hostCommit(t)
  const source = `${directory}/../source.git`
  await git('clone', '--quiet', '--bare', directory, source)
  const pushed = await makeCommit(source, 'not pushed yet')
  refused(t, await service.list('alice/hello', pushed), 404, 'commit not found')
  await git('-C', source, 'push', '--quiet', directory, 'main')
  t.strictSame((await service.list('alice/hello', pushed)).body, { state: null, statuses: [] })
  t.equal((await service.report('alice/hello', pushed, token, { state: 'success' })).status, 201)
})

t.test('A shorter or non-hex sha gives 422', async (t) => {
  const { service, sha, token, stored } = await hostCommit(t)
  const bad = [
    sha.slice(0, 7),
    sha.slice(0, 39),
    `${sha}0`,
    'a'.repeat(63),
    'a'.repeat(65),
    'a'.repeat(128),
    'HEAD',
    'main',
    'refs%2Fheads%2Fmain',
    `${sha.slice(0, 39)}g`,
    `${sha.slice(0, 39)}%0a`,
    `${sha}%0a`,
    `${sha}%00`,
    `${sha}^`,
    `${sha}%5E%7Btree%7D`,
    `0x${sha.slice(2)}`,
    `${sha.slice(0, 39)}%EF%BD%81`,
    `%20${sha.slice(1)}`,
    `-${sha.slice(1)}`,
  ]
  for (const id of bad) {
    refused(
      t,
      await service.list('alice/hello', id),
      422,
      'sha must be a full 40 or 64 character hex commit id',
      `list ${id}`,
    )
    refused(
      t,
      await service.report('alice/hello', id, token, { state: 'success' }),
      422,
      'sha must be a full 40 or 64 character hex commit id',
      `report ${id}`,
    )
  }
  t.strictSame(await stored(), [])
})
