import type { Argument, Command, Help, Option } from 'commander'
import { commandsOf, optionsOf, placeholderOf, type Called } from '../completion/values.js'
import { explanationOf } from '../terminal/help.js'
import { item, list, literal, macro, page, text, word } from './mdoc.js'

/** commit-status(1): every command, as its `--help` has it. */
export function commandsPage(program: Command, date: Date): string {
  const [, ...called] = commandsOf(program)
  return page('commit-status', 1, date, [
    ...['.Sh NAME', '.Nm commit-status', `.Nd ${description(program)}`],
    ...['.Sh SYNOPSIS', '.Nm', '.Op Fl \\-config Ar file', '.Ar command', '.Op Ar argument ...'],
    '.Sh DESCRIPTION',
    text(
      'A command takes the same settings as the service, works while the service is running and while it is not, and ' +
        'the service sees a change at once.',
    ),
    'The settings are those of',
    '.Xr commit-status.json 5 .',
    '.Pp',
    text('These options are taken by every command:'),
    list(...optionsOf(program).map((option) => optionItem(program.createHelp(), option))),
    '.Sh COMMANDS',
    ...called.filter(({ command }) => command.commands.length === 0).map(commandText),
    '.Sh ENVIRONMENT',
    text('Every setting has a variable besides; no command needs one.'),
    list(...ENVIRONMENT.map(([name, meaning]) => item(`Ev ${name}`, text(meaning)))),
    '.Sh FILES',
    list(
      item(
        'Pa /etc/commit-status/settings.json',
        text('The settings, where no other file is named.'),
        'See',
        '.Xr commit-status.json 5 .',
      ),
    ),
    '.Sh EXIT STATUS',
    text('Where a command says nothing else:'),
    list(
      item('0', text('It is done.')),
      item('1', text('It failed; standard error says why.')),
      item('2', text('It was used wrongly, and nothing was done.')),
    ),
    ...['.Sh SEE ALSO', '.Xr git 1 ,', '.Xr commit-status.json 5 ,', '.Xr githooks 5'],
  ])
}

/** What commands take from the environment that is no setting. */
const ENVIRONMENT: readonly (readonly [name: string, meaning: string])[] = [
  ['COMMIT_STATUS_CONFIG', 'The settings file; empty: none.'],
  ['COMMIT_STATUS_URL', 'The address of the service, for commands that speak to it over HTTP.'],
  ['COMMIT_STATUS_TOKEN', 'The token for them.'],
  ['FORCE_COLOR', 'If it is set, output is in colour although it goes to no terminal.'],
  ['NO_COLOR', 'If it is set, no output is in colour.'],
  ['NODE_EXTRA_CA_CERTS', 'A file with the certificate of the CA that signed that of the service.'],
]

function description(command: Command): string {
  return command
    .description()
    .replace(/\.$/, '')
    .replace(/^./, (first) => first.toLowerCase())
}

function commandText({ words, command }: Called): string {
  const help = command.createHelp()
  const { more = [], examples = [] } = explanationOf(command) ?? {}
  const options = optionsOf(command).filter(({ long }) => long !== '--help')
  const paragraphs = more.flatMap((paragraph) => ['.Pp', text(paragraph)])
  return [
    `.Ss ${words.map(word).join(' ')}`,
    '.Nm',
    macro('Cm', ...words.map(word)),
    ...(options.length > 0 ? ['.Op Ar option ...'] : []),
    ...command.registeredArguments.map((argument) => argumentCall(argument)),
    '.Pp',
    text(`${command.description().replace(/^./, (first) => first.toUpperCase())}.`),
    list(
      ...command.registeredArguments.filter(hasDescription).map((argument) => argumentItem(help, argument)),
      ...options.map((option) => optionItem(help, option)),
    ),
    ...paragraphs,
    '.Pp',
    examples.length > 1 ? 'Examples:' : 'Example:',
    literal(examples),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function argumentCall(argument: Argument): string {
  const words = [word(argument.name()), ...(argument.variadic ? ['...'] : [])]
  return argument.required ? macro('Ar', ...words) : macro('Op', 'Ar', ...words)
}

function hasDescription({ description: words, argChoices = [] }: Argument): boolean {
  return words !== '' || argChoices.length > 0
}

function argumentItem(help: Help, argument: Argument): string {
  return item(`Ar ${word(argument.name())}`, text(help.argumentDescription(argument)))
}

function optionItem(help: Help, option: Option): string {
  const { short, long = '' } = option
  const names = [short, long].flatMap((name) => (name === undefined ? [] : [`Fl ${word(name.slice(1))}`]))
  const value = placeholderOf(option)
  return item(names.join(' , ') + (value === '' ? '' : ` Ar ${word(value)}`), text(help.optionDescription(option)))
}
