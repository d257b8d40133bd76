import type { Argument, Command, Option } from 'commander'
import {
  commandsOf,
  innerOf,
  isRepeated,
  optionsOf,
  placeholderOf,
  takesValue,
  valuesOf,
  valuesOfArgument,
  type Called,
  type Values,
} from './values.js'

/** The completion script of zsh: to be evaluated, or a file \`_commit-status\` in a folder of \`fpath\`. */
export function zshCompletion(program: Command): string {
  return `#compdef commit-status
# Completion of commit-status for zsh, printed by: commit-status completion zsh

_commit-status() {
  local program=$words[1]
${bodyOf({ words: [], command: program })}
}

${commandsOf(program)
  .slice(1)
  .map((called) => `${functionOf(called.words)}() {\n${bodyOf(called)}\n}\n`)
  .join('\n')}
_commit-status-repositories() {
  local -a found
  found=(\${(f)"$($program completion zsh --repositories 2> /dev/null)"})
  compadd -a found
}

if [[ $funcstack[1] == _commit-status ]]; then
  _commit-status "$@"
else
  compdef _commit-status commit-status
fi
`
}

function functionOf(words: readonly string[]): string {
  return ['_commit-status', ...words].join('-')
}

function bodyOf({ words, command }: Called): string {
  const inner = innerOf(command)
  const options = [
    ...optionsOf(command).map(specification),
    ...(words.length > 0 ? [quoted('--config=[settings file]:file:_files')] : []),
  ]
  const rest =
    inner.length > 0
      ? [quoted('1: :->command'), quoted('*:: :->argument')]
      : command.registeredArguments.map((argument, index) => argumentSpecification(argument, index + 1))
  const call = [...options, ...rest].join(' \\\n    ')
  if (inner.length === 0) return `  _arguments -s -S \\\n    ${call}`
  const names = inner.map((below) => quoted(`${below.name()}:${below.description()}`))
  const cases = inner.map((below) => `        ${below.name()}) ${functionOf([...words, below.name()])} ;;`)
  return `  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
    ${names.join('\n    ')}
  )
  _arguments -s -S -C \\
    ${call}
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
${cases.join('\n')}
      esac
      ;;
  esac`
}

function specification(option: Option): string {
  const text = `[${option.description.replaceAll(/[[\]\\]/g, '\\$&')}]`
  const { short, long = '' } = option
  if (short !== undefined) return `'(${short} ${long})'{${short},${long}}${quoted(text)}`
  if (!takesValue(option)) return quoted(`${long}${text}`)
  const times = isRepeated(option) ? '*' : ''
  return quoted(`${times}${long}=${text}:${escaped(placeholderOf(option))}:${action(valuesOf(option))}`)
}

function argumentSpecification(argument: Argument, place: number): string {
  const at = argument.variadic ? '*' : `${place}${argument.required ? '' : ':'}`
  return quoted(`${at}:${escaped(argument.name())}:${action(valuesOfArgument(argument))}`)
}

function action(values: Values): string {
  // Not a mere message, which would keep zsh from putting in the one option that fits.
  if (values === 'anything') return '( )'
  if (values === 'files') return '_files'
  if (values === 'folders') return '_files -/'
  return values === 'repositories' ? '_commit-status-repositories' : `(${values.join(' ')})`
}

function escaped(message: string): string {
  return message.replaceAll(':', '\\:')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
