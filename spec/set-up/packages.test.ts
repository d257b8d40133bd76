import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A checkout in which `npm ci` has been run: npm's own record of that, and what the set-up changes of the packages. */
function checkout(t: Test): string {
  const folder = t.testdir({ node_modules: { nodegit: {}, nan: {} }, build: {} })
  mkdirSync(join(folder, 'scripts'))
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(root, file), join(folder, file))
  for (const file of ['.package-lock.json', 'nodegit/package.json', 'nan/package.json'])
    copyFileSync(join(root, 'node_modules', file), join(folder, 'node_modules', file))
  return folder
}

/** Runs the step of the set-up that installs packages, with an npm that cannot. */
async function setUp(folder: string): Promise<string> {
  cpSync(join(root, 'scripts/set-up'), join(folder, 'scripts/set-up'), { recursive: true })
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\necho "npm error was asked for: $*"\nexit 1\n', { mode: 0o755 })
  const program = `import { isCurrent, make } from './scripts/set-up/packages.js'
    const before = isCurrent()
    const done = await make().catch((error) => error.message)
    console.log(JSON.stringify([before, done, isCurrent()]))`
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` }
  const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, env })
  return ran.stdout.trim().split('\n').at(-1) ?? ''
}

t.test('What `npm ci` has installed is taken as it is', async (t) => {
  const folder = checkout(t)
  t.match(await setUp(folder), /^\[false,"found \d+ packages",true\]$/)
  t.ok(existsSync(join(folder, 'node_modules/.set-up')))
})

t.test('Another version of a package, one that is missing, or none: npm installs what is locked', async (t) => {
  const failed = '[false,"npm ci could not install the locked packages",false]'
  for (const change of [
    (record: Record<string, { version?: string }>) =>
      Object.assign(record['node_modules/polka'] ?? {}, { version: '0' }),
    (record: Record<string, { version?: string }>) => delete record['node_modules/polka'],
  ]) {
    const folder = checkout(t)
    const file = join(folder, 'node_modules/.package-lock.json')
    const record = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { version?: string }> }
    change(record.packages)
    writeFileSync(file, JSON.stringify(record))
    t.equal(await setUp(folder), failed)
  }
  const folder = checkout(t)
  rmSync(join(folder, 'node_modules/.package-lock.json'))
  t.equal(await setUp(folder), failed)
})

t.test('npm runs no script of a package, and lists what developers look for', async (t) => {
  const npm = async (...args: string[]) => (await promisify(execFile)('npm', args, { cwd: root })).stdout
  t.equal((await npm('config', 'get', 'ignore-scripts')).trim(), 'true')
  const listed = await npm('run')
  for (const name of ['start', 'test', 'build', 'lint', 'spec']) t.match(listed, new RegExp(`^  ${name}$`, 'm'))
})
