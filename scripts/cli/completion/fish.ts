import type { Command, Option } from 'commander'
import {
  commandsOf,
  innerOf,
  namesWithValue,
  optionsOf,
  takesValue,
  valuesOf,
  valuesOfArgument,
  type Values,
} from './values.js'

/** The completion script of fish. */
export function fishCompletion(program: Command): string {
  const lines = commandsOf(program).flatMap(({ words, command }) => {
    const at = (count: string) => `-n '__commit_status_at ${[count, ...words].join(' ')}'`
    const options = optionsOf(command).map((option) => [
      // Those of the whole program go everywhere; each command has the help.
      ...(words.length > 0 ? [at('any')] : []),
      ...optionWords(option),
    ])
    return [
      ...(words.length > 0 ? options.filter((option) => !option.includes('-l help')) : options),
      ...innerOf(command).map((below) => [at('0'), `-a ${below.name()}`, `-d ${quoted(below.description())}`]),
      ...command.registeredArguments.flatMap((argument, index) => {
        const values = wordsOf(valuesOfArgument(argument))
        return values.length > 0 ? [[at(argument.variadic ? 'any' : String(index)), ...values]] : []
      }),
    ]
  })
  return `# Completion of commit-status for fish, printed by: commit-status completion fish

# Whether the words before the cursor begin a command, with as many behind it that are no options.
function __commit_status_at
    set -l words
    set -l is_value no
    for word in (commandline -opc)[2..-1]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch $word
            case ${namesWithValue(program).join(' ')}
                set is_value yes
            case '-*'
            case '*'
                set -a words $word
        end
    end
    set -l path $argv[2..-1]
    test (count $words) -ge (count $path); or return 1
    for i in (seq (count $path))
        test $words[$i] = $path[$i]; or return 1
    end
    test $argv[1] = any; or test (math (count $words) - (count $path)) = $argv[1]
end

function __commit_status_repositories
    set -l words (commandline -opc)
    $words[1] completion fish --repositories 2>/dev/null
end

complete -c commit-status -f
${lines.map((words) => `complete -c commit-status ${words.join(' ')}`).join('\n')}
`
}

function optionWords(option: Option): string[] {
  const { short, long = '' } = option
  const names = [`-l ${long.slice(2)}`, ...(short === undefined ? [] : [`-s ${short.slice(1)}`])]
  const description = `-d ${quoted(option.description)}`
  if (!takesValue(option)) return [...names, description]
  const values = wordsOf(valuesOf(option))
  return [...names, description, ...(values.includes('-F') ? ['-r'] : ['-x']), ...values]
}

function wordsOf(values: Values): string[] {
  if (values === 'anything') return []
  if (values === 'files') return ['-F']
  if (values === 'folders') return ["-a '(__fish_complete_directories)'"]
  return [`-a '${values === 'repositories' ? '(__commit_status_repositories)' : values.join(' ')}'`]
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}
