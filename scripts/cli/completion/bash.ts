import type { Command } from 'commander'
import {
  commandsOf,
  innerOf,
  namesWithValue,
  optionsOf,
  pathsOf,
  takesValue,
  valuesOf,
  valuesOfArgument,
  type Values,
} from './values.js'

/**
 * The completion script of bash, 3.2 and later, with or without the package bash-completion. What may stand at a place
 * is one `case`: a place is the words of the command, and the option whose value it is, or which argument, from 1.
 */
export function bashCompletion(program: Command): string {
  const places = commandsOf(program).flatMap(({ words, command }) => {
    const path = words.join(' ')
    const options = optionsOf(command)
    const inner = innerOf(command).map((below) => below.name())
    const names = options.flatMap(({ short, long }) => [short, long].filter((name) => name !== undefined))
    const below = path === '' ? '' : ' --config'
    return [
      `    '${path} -') _commit_status_offer ${names.join(' ')}${below} ;;`,
      ...options.filter(takesValue).map((option) => line(place(path, option.long ?? ''), valuesOf(option))),
      ...(inner.length > 0 ? [line(place(path, '1'), inner)] : []),
      ...command.registeredArguments.map((argument, index) =>
        line(argument.variadic ? `'${path} '[0-9]*` : place(path, String(index + 1)), valuesOfArgument(argument)),
      ),
    ]
  })
  return `# Completion of commit-status for bash, printed by: commit-status completion bash

_commit_status() {
  local prefix value word option='' path='' last=0 count=1 i
  local -a words=()
  COMPREPLY=()
  # Bash takes --option=value and addresses apart.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((\${#words[@]})) && [[ $word =~ ^[=:@]+$ || \${COMP_WORDS[i - 1]} =~ ^[=:@]+$ ]]; then
      words[last]+=$word
    else
      last=\${#words[@]}
      words+=("$word")
    fi
  done
  for word in "\${words[@]:0:last}"; do
    if [[ -n $option ]]; then
      option=''
      continue
    fi
    case $word in
    ${namesWithValue(program).join(' | ')}) option=$word ;;
    -*) ;;
    *)
      case "$path\${path:+ }$word" in
      ${pathsOf(program)
        .map((path) => `'${path}'`)
        .join(' | \\\n      ')}) path="$path\${path:+ }$word" ;;
      *) ((count++)) ;;
      esac
      ;;
    esac
  done
  value=\${words[last]}
  if [[ -z $option && $value == --*=* ]]; then
    option=\${value%%=*} value=\${value#*=}
  fi
  # What readline keeps of the word when it puts in what is found.
  prefix=\${value%"\${2-}"}
  if [[ -n $option ]]; then word=$option; elif [[ $value == -* ]]; then word=-; else word=$count; fi
  case "$path $word" in
${places.filter((text) => text !== '').join('\n')}
    *' --config') _commit_status_files -f ;;
  esac
}

_commit_status_offer() {
  local found
  for found; do
    if [[ $found == "$value"* ]]; then COMPREPLY+=("\${found#"$prefix"}"); fi
  done
}

_commit_status_files() {
  local found
  while IFS= read -r found; do COMPREPLY+=("\${found#"$prefix"}"); done < <(compgen "$1" -- "$value")
  compopt -o filenames 2> /dev/null
}

_commit_status_repositories() {
  local found
  while IFS= read -r found; do
    _commit_status_offer "$found"
  done < <("\${COMP_WORDS[0]}" completion bash --repositories 2> /dev/null)
}

complete -F _commit_status commit-status
`
}

function place(path: string, what: string): string {
  return `'${path} ${what}'`
}

/** A line of the \`case\`; none where nothing can be completed. */
function line(pattern: string, values: Values): string {
  if (values === 'anything') return ''
  const action =
    values === 'files'
      ? '_commit_status_files -f'
      : values === 'folders'
        ? '_commit_status_files -d'
        : values === 'repositories'
          ? '_commit_status_repositories'
          : `_commit_status_offer ${values.join(' ')}`
  return `    ${pattern}) ${action} ;;`
}
