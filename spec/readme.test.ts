import t from 'tap'
import { settings } from '../config/settings.js'
import { catalogue } from '../lib/errors.js'
import { CommandPlace } from './fixtures/command.js'
import { readmeTable } from './fixtures/readme.js'

t.test('The README has every setting, with its variable, default and meaning, and no other', async (t) => {
  const expected = settings.map(({ key, environment, default: value, meaning }) => {
    return [`\`${key}\``, `\`${environment}\``, typeof value === 'object' ? 'none' : `\`${value}\``, meaning]
  })
  t.strictSame(readmeTable('key', 'environment', 'default', 'meaning'), expected)
})

t.test('The README has every status of a refusal or failure, and no other', async (t) => {
  const documented = readmeTable('status', 'when').map(([status]) => Number(status))
  const statuses = Object.values(catalogue).map(({ status }) => status)
  t.strictSame(documented, [...new Set(statuses)].sort((one, other) => one - other))
})

t.test('The README has every command that is there, and no other', async (t) => {
  const place = new CommandPlace(t.testdir())
  const documented = readmeTable('command', 'does').flatMap(([cell = '']) => Array.from(cell.matchAll(/`([a-z-]+(?: [a-z]+)?)/g), ([, name]) => name))
  const groups = commandsIn((await place.run(['--help'])).stdout)
  const commands = groups.map(async (group) => {
    const inner = commandsIn((await place.run([group, '--help'])).stdout)
    return inner.length > 0 ? inner.map((name) => `${group} ${name}`) : [group]
  })
  t.strictSame(documented, (await Promise.all(commands)).flat())
})

function commandsIn(help: string): string[] {
  const [, commands = ''] = help.split('\nCommands:\n')
  return Array.from(commands.matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name)
}
