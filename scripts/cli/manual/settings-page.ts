import { settings, type Setting } from '../../../config/settings.js'
import { item, list, literal, page, text, word } from './mdoc.js'

/** commit-status.json(5): every setting of the table. */
export function settingsPage(date: Date): string {
  return page('commit-status.json', 5, date, [
    ...['.Sh NAME', '.Nm commit-status.json', '.Nd settings of commit-status'],
    ...['.Sh SYNOPSIS', '.Pa /etc/commit-status/settings.json'],
    '.Sh DESCRIPTION',
    text(
      'The settings of the service and of every command are defaults, then those of a JSON file, then those of the ' +
        'environment. The file is the one that `--config` names, else the variable `COMMIT_STATUS_CONFIG` (empty: ' +
        'none), else `/etc/commit-status/settings.json`, if it is there. In it, a dot in the name of a setting ' +
        'stands for a nested object. An unknown key or a bad value stops the start with a message that names it. ' +
        'Relative paths are below the folder of the file, in the environment below the working directory.',
    ),
    '.Sh SETTINGS',
    list(...settings.map(settingItem)),
    '.Sh FILES',
    list(item('Pa /etc/commit-status/settings.json', text('The file that is read where no other is named.'))),
    '.Sh EXAMPLES',
    literal(
      JSON.stringify({ port: 9000, repositories: '/srv/git', authFailures: { limit: 10 } }, undefined, 2).split('\n'),
    ),
    ...['.Sh SEE ALSO', '.Xr commit-status 1'],
  ])
}

function settingItem({ key, environment, default: value, rule, meaning, separator }: Setting): string {
  const shown = Array.isArray(value) ? value.join(separator ?? ',') : String(value)
  return item(
    `Ic ${word(key)}`,
    text(`${meaning.replace(/^./, (first) => first.toUpperCase())}.`),
    '.br',
    text(`Value: ${ruleOf(rule)}. Default: ${shown === '' ? 'none' : `\`${shown}\``}.`),
    '.br',
    `.Ev ${environment}`,
  )
}

/** What a value must be, in words. */
function ruleOf(rule: object): string {
  const of = (name: string): unknown => Reflect.get(rule, name)
  const [type, description, choices, items] = [of('type'), of('description'), of('enum'), of('items')]
  if (typeof description === 'string') return description
  if (Array.isArray(choices)) return `one of ${choices.map((choice) => `\`${String(choice)}\``).join(', ')}`
  if (typeof items === 'object' && items !== null) return `a list; each: ${ruleOf(items)}`
  if (type === 'integer') return `a whole number, ${String(of('minimum'))} to ${String(of('maximum'))}`
  const least = of('minLength')
  return `a text of ${typeof least === 'number' ? least : 0} to ${String(of('maxLength'))} characters`
}
