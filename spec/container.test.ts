import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { settings } from '../config/settings.js'
import { readSettings } from '../lib/stand-alone/settings.js'
import { embed, listen } from './fixtures/embedded.js'

const FILE = 'config/Containerfile'
const program = fileURLToPath(new URL('../scripts/commit-status.js', import.meta.url))

/** The instructions of the last stage, which makes the image, each with what stands behind its name. */
const stages = readFileSync(FILE, 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split(/^(?=FROM )/m)
const [, files = '', image = ''] = stages
const instruction = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(image)?.[1] ?? ''
const words = (text: string): string[] => {
  const parsed: unknown = JSON.parse(text)
  if (!Array.isArray(parsed)) throw new Error(`not in the form that needs no shell: ${text}`)
  return parsed.map(String)
}

t.test('The image has one user, who is not root, and needs no shell', async (t) => {
  t.equal(stages.length, 3)
  t.match(image, /^FROM scratch\n/)
  const [user = '', group = ''] = instruction('USER').split(':')
  t.ok(Number(user) > 0 && Number(group) > 0)
  t.match(files, `commit-status:x:${user}:${group}::`)
  t.match(image, `--chown=${user}:${group} /store `)
  t.strictSame([words(instruction('ENTRYPOINT')), words(instruction('CMD'))], [['/usr/bin/commit-status'], ['serve']])
  t.notMatch(image, /^RUN /m)
})

t.test('Its settings are settings, and its volumes are where they say', async (t) => {
  const given = Object.fromEntries(
    instruction('ENV')
      .split(' ')
      .map((pair): [string, string] => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
  const { PATH, ...environment } = given
  t.equal(PATH, '/usr/bin')
  const known: readonly string[] = settings.map((setting) => setting.environment)
  t.strictSame(
    Object.keys(environment).filter((name) => !known.includes(name)),
    [],
  )
  const { host, port, repositories, store } = readSettings({ environment, home: '/', directory: '/' })
  t.strictSame([host, instruction('EXPOSE')], ['0.0.0.0', String(port)])
  const [ofStore, ofRepositories] = words(instruction('VOLUME'))
  t.equal(repositories, ofRepositories)
  t.equal(store, `level:${ofStore ?? ''}/store`)
})

t.test('Its health check tells a service that takes reports from one that does not, or from none', async (t) => {
  const [, check = ''] = /^HEALTHCHECK (?:--\S+ )+CMD (.*)$/m.exec(image) ?? []
  const [node, ...args] = words(check)
  t.equal(node, '/usr/lib/commit-status/bin/node')
  const exitOf = async (url: string): Promise<unknown> => {
    const env = { ...process.env, COMMIT_STATUS_PORT: new URL(url).port }
    const ended = promisify(execFile)(process.execPath, args, { env })
    return await ended.then(
      () => 0,
      (error: unknown) => error instanceof Error && 'code' in error && error.code,
    )
  }
  const { service } = await embed(t)
  const well = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const ill = await listen(t, (_, response) => response.writeHead(503).end())
  t.strictSame([await exitOf(well), await exitOf(ill), await exitOf('http://127.0.0.1:4')], [0, 1, 1])
})

t.test('Its command starts without a shell', async (t) => {
  const [line = '', node = '', script = ''] = /printf '\S+' (\S+) (\S+)/.exec(files) ?? []
  t.strictSame(
    [node, script].join(' '),
    '/usr/lib/commit-status/bin/node /usr/lib/commit-status/scripts/commit-status.js',
  )
  const here = line.replace(node, process.execPath).replace(script, program)
  const command = join(t.testdir(), 'commit-status')
  writeFileSync(command, (await promisify(execFile)('sh', ['-c', here])).stdout)
  chmodSync(command, 0o755)
  // By `env`, since tap puts into every environment what its own processes need.
  const version = async (file: string) =>
    await promisify(execFile)('env', ['-i', `PATH=${process.env['PATH'] ?? ''}`, file, '--version'])
  t.strictSame(await version(command), await version(program.replace(/\.js$/, '')))
})
