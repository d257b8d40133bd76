import { join } from 'node:path'
import t from 'tap'
import { errorMessage } from '../../lib/errors.js'
import { createCommitStatusService, type CommitStatusOptions } from '../../lib/index.js'

const create = async (options: unknown) => await createCommitStatusService(options as CommitStatusOptions)

t.test('Unknown options or a part of the wrong shape: a TypeError at creation that names the option', async (t) => {
  const folder = t.testdir({ repositories: {} })
  const good = { repositories: join(folder, 'repositories'), store: `level:${join(folder, 'store')}` }
  const itself: Record<string, unknown> = {}
  itself['itself'] = itself
  const wrong: [unknown, RegExp][] = [
    [undefined, /options/],
    ['/srv/git', /options/],
    [{ ...good, repository: 'x' }, /no option repository; did you mean repositories\?$/],
    [{ store: good.store }, /needs the option repositories/],
    [{ repositories: good.repositories }, /needs the option store/],
    [{ ...good, repositories: 7 }, /option repositories must be string or be an object with find\(\)/],
    [{ ...good, repositories: '' }, /option repositories/],
    [{ ...good, repositories: {} }, /option repositories/],
    [{ ...good, store: 'redis://x' }, /option store/],
    [{ ...good, store: { close() {} } }, /option store/],
    [
      { ...good, store: { unavailableReason() {}, renameRepository() {}, deleteRepository() {}, close() {} } },
      /option store\.statuses/,
    ],
    [{ ...good, trustedProxies: '10.0.0.1' }, /option trustedProxies/],
    [{ ...good, trustedProxies: ['10.0.0.300'] }, /option trustedProxies/],
    [{ ...good, tokenPrefix: 'A B' }, /option tokenPrefix/],
    [{ ...good, authFailures: 5 }, /option authFailures/],
    [{ ...good, authFailures: { limit: 0 } }, /option authFailures\.limit/],
    [{ ...good, authFailures: { window: 5 } }, /no option authFailures\.window$/],
    [{ ...good, authFailures: { windowSeconds: '5' } }, /option authFailures\.windowSeconds/],
    [{ ...good, limits: 5 }, /option limits must be object; got 5$/],
    [{ ...good, compatibleApis: ['svn'] }, /must be one of github, gitea, gitlab; got "svn"$/],
    [{ ...good, publicUrl: 'status.example.com' }, /must be an http or https address .*; got "status\.example\.com"$/],
    [{ ...good, tokenPrefix: 'x'.repeat(500) }, /got "x{199}…$/],
    [{ ...good, tokenPrefix: () => 'cst' }, /got function$/],
    [{ ...good, trustedProxies: itself }, /got an object$/],
    [{ ...good, tokenPrefix: 'postgres://u:secret@host' }, /got "postgres:\*\*\*"$/],
    [{ ...good, limits: { requests: 0 } }, /option limits\.requests must be >= 1/],
    [{ ...good, limits: { connections: 5 } }, /no option limits\.connections/],
    [{ ...good, retention: { olderThan: '400d' } }, /no option retention\.olderThan/],
    [{ ...good, retention: 'on' }, /option retention must be off, or an object with unchangedFor, .*; got "on"$/],
    [
      { ...good, retention: { goneCommits: true }, repositories: { find() {} } },
      /the option retention needs repositories of its own, not of the host$/,
    ],
    [{ ...good, metrics: 'main' }, /option metrics must be boolean/],
    [{ ...good, host: '127.0.0.1' }, /no option host$/],
    [{ ...good, metric: true }, /no option metric; did you mean metrics\?$/],
    [{ ...good, accesPolicy: {} }, /no option accesPolicy; did you mean accessPolicy\?$/],
    [{ ...good, 'limits.waits': 1 }, /no option limits\.waits; a dot stands for a nested object$/],
    [{ ...good, limits: { wait: 1 } }, /no option limits\.wait; did you mean limits\.waits\?$/],
    [{ ...good, authenticator: () => undefined }, /option authenticator must be an object with authenticate\(\)/],
    [{ ...good, accessPolicy: {} }, /option accessPolicy must be an object with access\(\)/],
    [{ ...good, logger: console.log }, /option logger/],
    [{ ...good, clock: {} }, /option clock must be an object with now\(\)/],
  ]
  for (const [options, message] of wrong)
    await t.rejects(create(options), { name: 'TypeError', message }, String(message))
  for (const [options] of wrong)
    t.notMatch(await create(options).catch(errorMessage), /pattern|format "/, 'no regular expression')
})

t.test('A missing repositories folder: an error at creation that names it', async (t) => {
  const folder = t.testdir({ file: '' })
  for (const name of ['none', 'file']) {
    const repositories = join(folder, name)
    await t.rejects(create({ repositories, store: `level:${join(folder, 'store')}` }), {
      message: `the repositories folder ${repositories} does not exist; make it, or name another one`,
    })
  }
})

t.test('A store that is in use: an error at creation that names it', async (t) => {
  const folder = t.testdir({ repositories: {} })
  const options = { repositories: join(folder, 'repositories'), store: `level:${join(folder, 'store')}` }
  const service = await create(options)
  t.teardown(async () => await service.close())
  await t.rejects(create(options), { message: new RegExp(`store ${join(folder, 'store')} is in use`) })
})

t.test(
  'With the option metrics, the library tells what it measured; without it, there is nothing to ask',
  async (t) => {
    const folder = t.testdir({ repositories: {} })
    const options = { repositories: join(folder, 'repositories'), store: `level:${join(folder, 'store')}` }
    for (const metrics of [true, false]) {
      const service = await createCommitStatusService({ ...options, metrics })
      const { contentType, text } = (await service.metrics?.()) ?? {}
      t.equal(contentType, metrics ? 'text/plain; version=0.0.4; charset=utf-8' : undefined)
      t.equal(text?.includes('commit_status_store_size_bytes'), metrics || undefined)
      await service.close()
    }
  },
)
