import { Argument, Option, type Command } from 'commander'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'
import { print } from '../terminal/output.js'

/** Prints what makes a shell complete our commands; it is made of the commands themselves. */
export function completionCommand(program: Command, io: Io): void {
  const completion = program
    .command('completion')
    .description('print the script that makes a shell complete commit-status')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addOption(new Option('--repositories', 'print the names of the repositories, for the script').hideHelp())
    .action(async (shell: (typeof SHELLS)[number], options: { repositories?: true }, command: Command) => {
      if (options.repositories) {
        const { repositoryNames } = await import('../completion/repositories.js')
        for (const name of await repositoryNames(io, command)) printLine(io, name)
        return
      }
      await print(io, (await SCRIPTS[shell]())(program))
    })
  explain(completion, {
    more: [
      'It runs a program for names of repositories alone, which are looked for in their folder, for a second at most.',
    ],
    examples: [
      'eval "$(commit-status completion bash)"                                   # in ~/.bashrc',
      'eval "$(commit-status completion zsh)"                                    # in ~/.zshrc, behind compinit',
      'commit-status completion fish > ~/.config/fish/completions/commit-status.fish',
    ],
  })
}

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** Only at their use: no other command needs them. */
const SCRIPTS = {
  bash: async () => (await import('../completion/bash.js')).bashCompletion,
  zsh: async () => (await import('../completion/zsh.js')).zshCompletion,
  fish: async () => (await import('../completion/fish.js')).fishCompletion,
} satisfies Record<(typeof SHELLS)[number], () => Promise<(program: Command) => string>>
