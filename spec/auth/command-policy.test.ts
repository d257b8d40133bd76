import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPolicy, type CommandPolicyOptions } from '../../lib/auth/command-policy.js'
import type { MaybePromise } from '../../lib/concurrency/maybe-promise.js'
import type { Access } from '../../lib/contracts/access-policy.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { RightsUnavailable } from '../../lib/errors.js'
import { repositoryNamed } from '../fixtures/names.js'
import { nameOnly, RightsProgram } from '../fixtures/rights-program.js'
import { until } from '../fixtures/within.js'

const [hello, secret] = [repositoryNamed('git/hello'), repositoryNamed('git/secret')]

function policyOf(t: Test, options: Partial<CommandPolicyOptions> & { body?: string } = {}) {
  const folder = t.testdir()
  const program = new RightsProgram(folder, options.body)
  const lines: { facts: object; message: string }[] = []
  const logger = { ...silentLogger, error: (facts: object, message: string) => void lines.push({ facts, message }) }
  const { command } = program
  const policy = new CommandPolicy({
    command,
    seconds: 600,
    nameOf: nameOnly,
    logger,
    milliseconds: 60_000,
    ...options,
  })
  t.teardown(() => {
    policy.close()
  })
  return { program, policy, lines, folder }
}

t.test('What the program says is the right: to write, to read, or none', async (t) => {
  const { policy, program } = policyOf(t)
  program.allow('hello alice RW', 'hello bob R', 'hello odd W')
  const of = async (user: string) => await policy.access(user, hello)
  t.strictSame(await Promise.all(['alice', 'bob', 'odd', 'eve'].map(of)), ['write', 'read', 'none', 'none'])
  t.equal(await policy.access('git', hello), 'none', 'nobody owns by name')
  t.equal(await policy.access('alice', hello, 'read'), 'read', 'as much as is wanted')
  t.strictSame(await policy.explain('bob', hello), { R: 'refs/.*', W: 'W any DENIED by fallthru' })
})

t.test('All that wait for the same right share one call', async (t) => {
  const { policy, program } = policyOf(t)
  const users = Array.from({ length: 50 }, (_, index) => `user-${index}`)
  const ask = async (user: string) => [await policy.access(user, hello), await policy.access(user, hello)]
  await Promise.all([...users, ...users].map(ask))
  t.strictSame(program.calls.map(({ right, lines }) => [right, lines.length]).sort(), [
    ['R', 50],
    ['W', 50],
  ])
})

/** A program that answers once it is let, and says when it runs. */
const HELD = `
  const { existsSync, writeFileSync } = require('node:fs')
  writeFileSync(__dirname + '/runs-' + process.pid, '')
  const look = () => {
    if (existsSync(__dirname + '/go')) process.stdout.write(lines.map(answer).join(''))
    else setTimeout(look, 10)
  }
  look()`

t.test('At most four run at once, and whoever asks meanwhile shares the next', async (t) => {
  const { policy, program, folder } = policyOf(t, { body: HELD })
  program.allow('hello user-1 R')
  const running = () => readdirSync(folder).filter((name) => name.startsWith('runs-')).length
  const asked: unknown[] = []
  for (let user = 0; user < 4; user++) {
    asked.push(policy.access(`user-${user}`, hello, 'read'))
    await until(() => running() === user + 1)
  }
  for (let user = 0; user < 40; user++) asked.push(policy.access(`user-${user}`, hello, 'read'))
  await new Promise(setImmediate)
  writeFileSync(join(folder, 'go'), '')
  const accesses = await Promise.all(asked)
  t.strictSame([accesses[1], accesses[5], accesses.filter((access) => access === 'none').length], ['read', 'read', 42])
  t.strictSame(
    program.calls.map(({ lines }) => lines.length),
    [1, 1, 1, 1, 36],
    'those that are asked already are not asked again',
  )
})

t.test('An answer is remembered, and a right that is withdrawn is gone in time', async (t) => {
  const { policy, program } = policyOf(t, { seconds: 1 })
  program.allow('hello alice RW', 'secret alice R')
  t.equal(await policy.access('alice', hello), 'write')
  t.equal(policy.access('alice', hello), 'write', 'at once')
  t.equal(policy.access('alice', hello, 'read'), 'read')
  await policy.access('alice', secret, 'read')
  await policy.access('alice', secret)
  program.allow()
  await until(async () => (await policy.access('alice', hello)) === 'none')
  t.ok(program.calls.length >= 4)
})

t.test('Of a missing repository the program is not asked, but it is called', async (t) => {
  const there = new Set(['git/hello', 'git/secret'])
  const { policy, program } = policyOf(t, { nameOf: ({ full, name }) => (there.has(full) ? name : undefined) })
  program.allow('hello alice RW')
  const missing = repositoryNamed('git/missing')
  t.equal(await policy.access('eve', missing), 'none')
  t.equal(await policy.access('alice', hello), 'write')
  t.equal(
    await policy.access('alice', missing),
    'none',
    'although it is asked about another one, where alice may write',
  )
  t.equal(policy.access('alice', missing), 'none', 'remembered')
  t.equal(await policy.explain('alice', missing), undefined)
  const asked = program.calls.map(({ right, lines }) => `${right} ${lines.join()}`).sort()
  t.strictSame(asked, [
    'R commit-status\teve',
    'R hello\talice',
    'R hello\talice',
    'W commit-status\teve',
    'W hello\talice',
    'W hello\talice',
  ])
})

t.test('At names that end gitolite, and those of its groups, nobody has a right', async (t) => {
  const names = [
    'a~b',
    'a,b',
    'a=b',
    '_a',
    '-a',
    '@all',
    'a..b',
    'a.git',
    'a.git/b',
    '0',
    'a b',
    'a\tb',
    'a\nb',
    'é',
    '',
  ]
  const { policy, program, lines } = policyOf(t, {
    nameOf: ({ name }) => (name === 'hello' ? name : names[Number(name.slice(1))]),
  })
  program.allow('hello alice RW')
  const odd = names.map((_, index) => repositoryNamed(`git/n${index}`))
  t.strictSame(
    new Set(await Promise.all(odd.map(async (name) => await policy.access('alice', name)))),
    new Set(['none']),
  )
  t.strictSame(new Set(await policy.accessToEach('alice', odd)), new Set(['none']))
  const users = ['a~b', 'a,b', 'a=b', '_a', '-a', '@all', '0', 'a b', 'alice\thello', 'alice\n', 'é', '', 'a/b']
  for (const user of users) {
    t.equal(policy.access(user, hello), 'none', JSON.stringify(user))
    t.strictSame(await policy.accessToEach(user, [hello, secret]), ['none', 'none'])
    t.equal(await policy.explain(user, hello), undefined)
  }
  t.ok(program.calls.every(({ lines: asked }) => asked.join() === 'commit-status\talice'))
  t.strictSame(lines, [])
  for (const user of ['alice@laptop', 'a.b+c-d_e@f', '9'])
    t.match(await policy.explain(user, hello), { R: /DENIED/ }, user)
})

t.test('Rights on many repositories are one call, and no more than a bounded one', async (t) => {
  const { policy, program } = policyOf(t)
  const all = Array.from({ length: 10_000 }, (_, index) => repositoryNamed(`git/r${index}`))
  program.allow('r0 alice R', 'r9999 alice RW')
  const accesses = await policy.accessToEach('alice', all.slice(0, 4096), 'read')
  t.strictSame([accesses.length, accesses[0], accesses.filter((access) => access !== 'none').length], [4096, 'read', 1])
  t.equal(program.calls.length, 1)
  t.equal((await policy.accessToEach('alice', all, 'read')).at(-1), 'read')
  const asked = program.calls.map(({ lines }) => lines.length)
  t.equal(
    asked.reduce((sum, count) => sum + count),
    10_000,
    'what is remembered is not asked again',
  )
  t.ok(Math.max(...asked) <= 4096)
  t.equal((await policy.accessToEach('alice', [hello, ...all.slice(-1)])).at(-1), 'write')
})

t.test('Lists of several users at once come one call after the other, as large as one may be', async (t) => {
  const { policy, program } = policyOf(t)
  const all = Array.from({ length: 3000 }, (_, index) => repositoryNamed(`git/r${index}`))
  program.allow('r0 bob R')
  const lists = ['alice', 'bob'].map(async (user) => await policy.accessToEach(user, [...all, hello], 'read'))
  const [one, list] = await Promise.all([policy.access('alice', hello, 'read'), lists[1]])
  t.strictSame([one, list?.[0], list?.[1]], ['none', 'read', 'none'])
  t.strictSame(program.calls.map(({ lines }) => lines.length).sort(), [3001, 3001])
  await Promise.all(lists)
})

t.test('What is remembered takes no more memory than it may', async (t) => {
  const { policy, program } = policyOf(t, { cacheBytes: 100_000 })
  const all = Array.from({ length: 1000 }, (_, index) => repositoryNamed(`git/r${index}`))
  await policy.accessToEach('alice', all, 'read')
  await policy.accessToEach('alice', all, 'read')
  t.equal(program.calls.length, 2)
})

t.test('Whatever goes wrong, the right is not known, and the log says why once for each call', async (t) => {
  const { policy, lines } = policyOf(t, { body: 'console.error("no such luck"); process.exit(7)' })
  const asked = ['alice', 'bob'].map(async (user) => await policy.access(user, hello, 'read'))
  for (const each of asked) await t.rejects(each, RightsUnavailable)
  await t.rejects(policy.explain('alice', hello), { message: 'it ended with 7: no such luck' })
  const [{ facts, message } = {}] = lines
  t.equal(message, 'rights cannot be determined')
  t.match(facts, { questions: 2, err: { message: 'it ended with 7: no such luck' } })
  await until(() => lines.length === 3)
})

t.test('A question does not wait longer for its turn than for its answer', async (t) => {
  const { policy } = policyOf(t, { body: 'setTimeout(() => 0, 600_000)', milliseconds: 1500 })
  const asked: MaybePromise<Access>[] = []
  for (let user = 0; user < 6; user++) {
    asked.push(policy.access(`user-${user}`, hello, 'read'))
    await new Promise(setImmediate)
  }
  const begun = performance.now()
  for (const each of asked) await t.rejects(Promise.resolve(each), RightsUnavailable)
  t.ok(performance.now() - begun < 1500 + 10_000)
})

t.test(
  'So many questions may wait, and one more list is refused at once; who asks one question is answered',
  async (t) => {
    const body = 'if (lines.length === 1) process.stdout.write(answer(lines[0])); else setTimeout(() => 0, 600_000)'
    const { policy, program } = policyOf(t, { body })
    program.allow('hello bob R')
    const all = Array.from({ length: 4096 }, (_, index) => repositoryNamed(`git/r${index}`))
    const users = Array.from({ length: 32 }, (_, index) => `user-${index}`)
    const many = Promise.all(users.map(async (user) => await policy.accessToEach(user, all, 'read')))
    await new Promise(process.nextTick)
    const one = policy.access('bob', hello, 'read')
    const refusal = { message: 'too many questions about rights wait' }
    await t.rejects(policy.accessToEach('bob', [hello, secret], 'read'), refusal)
    t.equal(await one, 'read')
    await until(() => program.calls.length === 5)
    policy.close()
    await t.rejects(many, { name: 'RightsUnavailable', message: 'the service is closed' })
  },
)
