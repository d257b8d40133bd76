import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { settings } from '../config/settings.js'
import { readSettings } from '../lib/stand-alone/settings.js'
import { LevelStore } from '../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from './fixtures/names.js'
import { chapter, codeBlocks } from './fixtures/page.js'
import { missing } from './fixtures/program.js'
import { resultOf } from './fixtures/work.js'

const run = promisify(execFile)

t.test('The sample settings file is read, and has every setting with its default, but for the folders', async (t) => {
  const read = (file?: string) =>
    readSettings({ environment: {}, home: '/', directory: process.cwd(), ...(file !== undefined && { file }) })
  const defaults = read()
  t.strictSame(read('config/settings.example.json'), {
    ...defaults,
    repositories: '/srv/git',
    store: 'level:/var/lib/commit-status/store',
    hooks: { ...defaults.hooks, secretFile: '/var/lib/commit-status/hooks.secret' },
  })
  const keysOf = (tree: object, path = ''): string[] =>
    Object.entries(tree).flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? keysOf(value, `${path}${name}.`)
        : [path + name],
    )
  t.strictSame(
    keysOf(JSON.parse(readFileSync('config/settings.example.json', 'utf8')) as object),
    settings.map(({ key }) => key),
  )
})

t.test('The unit gives the service as long to stop as it may take', async (t) => {
  const unit = readFileSync('config/commit-status.service', 'utf8')
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? []
  const closeSeconds = settings.find(({ key }) => key === 'limits.closeSeconds')?.default
  t.ok(Number(seconds) > Number(closeSeconds) + 10)
})

const systemdIsMissing = await missing('systemd')
t.test(
  'The unit is as closed as it can be, and more so for this machine alone',
  { skip: systemdIsMissing },
  async (t) => {
    const folder = t.testdir({ 'commit-status.service.d': {} })
    const unit = join(folder, 'commit-status.service')
    copyFileSync('config/commit-status.service', unit)
    // Tenths; it ends with 1 above the threshold.
    const exposure = async () => {
      const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--threshold=13', unit])
      return Number(/exposure level for commit-status\.service: ([\d.]+) /.exec(stdout)?.[1])
    }
    const usual = await exposure()
    copyFileSync('config/loopback-only.conf', join(folder, 'commit-status.service.d/loopback-only.conf'))
    t.ok((await exposure()) < usual)
  },
)

t.test('systemd understands the socket, which is where the settings say', { skip: systemdIsMissing }, async (t) => {
  const folder = t.testdir()
  for (const kind of ['socket', 'service'])
    copyFileSync(`config/commit-status.${kind}`, join(folder, `commit-status.${kind}`))
  const { stdout, stderr } = await run('systemd-analyze', ['verify', join(folder, 'commit-status.socket')])
  t.equal(stdout + stderr, '')
  const { host, port } = readSettings({ environment: {}, home: '/', directory: '/' })
  t.match(readFileSync('config/commit-status.socket', 'utf8'), `\nListenStream=${host}:${port}\n`)
})

t.test('nginx keeps connections for less long than the service, and waits longer for an answer', async (t) => {
  const snippet = readFileSync('config/nginx.conf', 'utf8')
  const secondsOf = (name: string): number => Number(new RegExp(`^\\s*${name} (\\d+)s;$`, 'm').exec(snippet)?.[1])
  const setting = (name: string): number => Number(settings.find(({ key }) => key === name)?.default)
  t.ok(secondsOf('keepalive_timeout') < setting('limits.keepAliveSeconds'))
  t.ok(secondsOf('proxy_read_timeout') > setting('limits.responseSeconds'))
  t.ok(secondsOf('proxy_send_timeout') > setting('limits.requestSeconds'))
})

t.test('The script of the pages prints the statuses of a backup', async (t) => {
  const folder = t.testdir({})
  const store = await LevelStore.open(join(folder, 'store'))
  const at = Date.parse('2031-01-31T12:00:00.000Z')
  await store.statuses.save(
    repositoryNamed('alice/hello'),
    commitId('c0ffee'),
    { context: 'test/unit', state: 'success', description: null, target_url: null },
    at,
  )
  await store.statuses.save(
    repositoryNamed('_bob/x'),
    commitId('c0ffee'),
    { context: 'lint', state: 'failure', description: null, target_url: null },
    at,
  )
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await resultOf(store.maintenance.backUp(join(folder, 'backup')))
  await store.close()
  const [script = ''] = codeBlocks(chapter('config/README.md', '## Your data'), 'js')
  writeFileSync('build/page-script.mjs', script)
  const { stdout } = await run(process.execPath, ['build/page-script.mjs', join(folder, 'backup')])
  const { hex } = commitId('c0ffee')
  t.equal(
    stdout,
    `2031-01-31T12:00:00.000Z _bob/x ${hex} failure lint\n2031-01-31T12:00:00.000Z alice/hello ${hex} success ` +
      `test/unit\n`,
  )
})
