// A password on the terminal: who mistypes the address of the database (`postgres:/u:secret@host`, a slash or an @ in
// the password, another scheme) got it back in the message, which then stood in the journal, in a ticket, in the log of
// a deployment. Nothing but the scheme is shown of what cannot be the address of a store, wherever it was given.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorMessage } from '../../lib/errors.js'
import { createCommitStatusService } from '../../lib/index.js'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { CommandPlace } from '../fixtures/command.js'

const RULE = 'must be level: and a folder, or postgres://USER:PASSWORD@HOST/DATABASE'

/** Addresses that are none, with what a message shows of each, and the rule that it names. */
const MISTYPED: Readonly<Record<string, readonly [shown: string, rule: string]>> = {
  'postgres:/u:secret@host/d': ['postgres:***', RULE],
  'postgres:u:secret@host': ['postgres:***', RULE],
  'postgres//u:secret@host': ['***', RULE],
  'Postgres://u:secret@host': ['Postgres:***', RULE],
  'mysql://u:secret@host/d?password=secret': ['mysql:***', RULE],
  'u:secret@host': ['u:***', RULE],
  'secret@host': ['***', RULE],
  ' postgres://u:secret@host/d': ['***', RULE],
  'postgres:///u:secret@host/d': ['postgres:***', RULE],
  'postgres://u:secret/d': ['postgres:***', RULE],
  'postgres://u:secret': ['postgres:***', RULE],
  'postgres://u@secret@host/d': ['postgres:***', RULE],
  'postgres://u:12/secret@host/d': ['postgres:***', RULE],
  'postgres://u:12?secret@host/d': ['postgres:***', RULE],
  'postgres://u:12#secret@host/d': ['postgres:***', RULE],
  'postgres://u:secret@host:port/d': ['postgres:***', RULE],
  'postgres://u:secret@[host/d': ['postgres:***', RULE],
}

function read(environment: Record<string, string>, file?: string) {
  return readSettings({ environment, home: '/', directory: '/', ...(file !== undefined && { file }) })
}

t.test('No message of a bad store shows what stands after the scheme', async (t) => {
  const folder = t.testdir()
  for (const [address, [shown, rule]] of Object.entries(MISTYPED)) {
    t.throws(
      () => read({ COMMIT_STATUS_STORE: address }),
      { name: 'SettingsError', message: `bad setting store (COMMIT_STATUS_STORE) = "${shown}": ${rule}` },
      address,
    )
    const file = join(folder, 'settings.json')
    writeFileSync(file, JSON.stringify({ store: address }))
    t.throws(() => read({}, file), { message: `bad setting store (${file}) = "${shown}": ${rule}` }, address)
    const option = createCommitStatusService({ repositories: folder, store: address })
    await t.rejects(option, { name: 'TypeError', message: `the option store ${rule} or be an object with` }, address)
    const said = await option.catch(errorMessage)
    t.ok(typeof said === 'string' && said.endsWith(`; got "${shown}"`), address)
    t.notMatch(said, /secret|host/)
  }
})

t.test('Nor does one of a setting that was meant to be the store', async (t) => {
  const folder = t.testdir()
  const [address] = Object.keys(MISTYPED)
  t.throws(() => read({ COMMIT_STATUS_STOER: address ?? '' }), { message: /STOER = "postgres:\*\*\*": no setting has/ })
  const files: Record<string, string> = {
    [JSON.stringify({ stores: [address] })]:
      'unknown setting stores (FILE) = "***": no setting has this name; did you mean store?',
    [JSON.stringify({ store: { url: address } })]: 'bad setting store (FILE) = "***": must be string',
    [JSON.stringify({ repositories: 1, host: [address] })]: 'bad setting host (FILE) = "***": must be string',
    // V8 shows ten characters around what is no JSON.
    ['secret@host']: "the settings file FILE cannot be read: Unexpected token 's' is not valid JSON",
    ['{"store": "postgres:/u:"secret@host"}']: 'the settings file FILE cannot be read: Expected',
    ['{"store": "postgres:/u:se\\cret@host"}']: 'the settings file FILE cannot be read: Bad escaped character in JSON',
    ['{"store": secret@host"}']: "the settings file FILE cannot be read: Unexpected token 's' is not valid JSON",
  }
  for (const [text, message] of Object.entries(files)) {
    const file = join(folder, 'settings.json')
    writeFileSync(file, text)
    t.throws(() => read({}, file), { name: 'SettingsError', message: message.replace('FILE', file) }, text)
    t.throws(() => read({}, file), { message: /^(?:(?!secret|host\b(?! \()).)*$/s }, text)
  }
})

t.test('Neither the service nor a command prints it, with whatever settings it was mistyped', async (t) => {
  const place = new CommandPlace(t.testdir())
  const addresses = ['postgres:/u:secret@host/d', 'postgres:///u:secret@host/d']
  const commands = [['serve'], ['store', 'migrate'], ['token', 'list']]
  const runs = addresses.flatMap((address) =>
    commands.map(async (args) => {
      const outcome = await place.run(args, { environment: { COMMIT_STATUS_STORE: address } })
      t.match(outcome, { status: 2, stdout: '', stderr: 'bad setting store (COMMIT_STATUS_STORE) = "postgres:***"' })
      t.notMatch(outcome.stderr, /secret|host/)
    }),
  )
  await Promise.all(runs)
})

t.test('An address with a password that is written as a URL has it is one', async (t) => {
  for (const store of [
    'postgres://u:p%40ss%2F@host:5432/d?sslmode=verify-full',
    'postgres://u:p@ss@host/d',
    'postgres://u:secret@/d?host=/run/postgresql',
    'postgres:///d?host=/run/postgresql&user=u@tenant',
    'postgres://u:secret@[::1]:5432/d',
    'postgresql://host',
    'postgres://u@%2Frun%2Fpostgresql/d',
  ])
    t.equal(read({ COMMIT_STATUS_STORE: store }).store, store)
})
