import type { Argument, Command, Option } from 'commander'
import { repeated } from '../terminal/repeated.js'

/** What a value can be, as far as a shell can complete it: these words, or what there is of this kind. */
export type Values = readonly string[] | 'files' | 'folders' | 'repositories' | 'anything'

/** A command and how it is called, below the program. */
export interface Called {
  readonly words: readonly string[]
  readonly command: Command
}

/** The program, its commands and theirs, each before those below it. */
export function commandsOf(command: Command, words: readonly string[] = []): Called[] {
  const inner = innerOf(command).flatMap((below) => commandsOf(below, [...words, below.name()]))
  return [{ words, command }, ...inner]
}

/** The commands of a group that people are shown. */
export function innerOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command)
}

/** The options that people are shown, without those of the whole program. */
export function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command)
}

export function isRepeated(option: Option): boolean {
  return option.parseArg === repeated
}

/** Kinds by what stands for a value in the help. */
const KINDS: Readonly<Record<string, Values>> = {
  file: 'files',
  // Of git log, which takes paths.
  arguments: 'files',
  dir: 'folders',
  'owner/repo': 'repositories',
  'owner[/repo]': 'repositories',
  from: 'repositories',
  to: 'repositories',
}

export function valuesOf(option: Option): Values {
  return option.argChoices ?? KINDS[placeholderOf(option)] ?? 'anything'
}

export function valuesOfArgument(argument: Argument): Values {
  return argument.argChoices ?? KINDS[argument.name()] ?? 'anything'
}

/** What stands for the value of an option in its help: `when` of `--expires <when>`. */
export function placeholderOf({ flags }: Option): string {
  return /<(.+)>/.exec(flags)?.[1] ?? ''
}

/** Whether a value follows the option. */
export function takesValue({ required }: Option): boolean {
  return required
}

/** The names of the options that a value follows, of all commands: none of them is a mere switch in another one. */
export function namesWithValue(program: Command): string[] {
  const options = commandsOf(program).flatMap(({ command }) => optionsOf(command))
  return [...new Set(options.filter(takesValue).flatMap(({ long }) => long ?? []))].sort()
}

/** The first words of all commands together, `token create` for one, groups too. */
export function pathsOf(program: Command): string[] {
  return commandsOf(program).flatMap(({ words }) => (words.length > 0 ? [words.join(' ')] : []))
}
