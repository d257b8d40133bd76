import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'

/** The hook of a git server: it needs neither the store nor libgit2, and of the settings where repositories are. */
export function gateCommand(program: Command, io: Io): void {
  const gate = program
    .command('gate')
    .description('as a hook of git: refuse a push of a protected ref to a commit that is not green')
    .argument('[ref]', 'in an update hook, or with --explain; a pre-receive hook reads standard input')
    .argument('[old]', 'id before; with --explain the revision that would be pushed')
    .argument('[new]', 'id after')
    .argument('[more...]', 'what gitolite gives a VREF besides')
    .option('--explain', 'say what would happen to a push of a commit to a ref, and why')
    .action(
      async (
        ref: string | undefined,
        old: string | undefined,
        id: string | undefined,
        _more: readonly string[],
        options: { explain?: true },
        command: Command,
      ) => {
        // What no other command needs.
        const { explainPush, judgePush, parseChanges } = await import('../gate/gate.js')
        const { config } = command.optsWithGlobals<{ config?: string }>()
        if (options.explain) {
          if (ref === undefined || old === undefined || id !== undefined)
            command.error('error: give a ref and what would be pushed to it: gate --explain main <revision>')
          const { isRefused, lines } = await explainPush(io, ref, old, config)
          printLine(io, lines.join('\n'))
          if (isRefused) io.exitCode = REFUSED
          return
        }
        if (ref !== undefined && (old === undefined || id === undefined))
          command.error('error: a ref comes with its id before and its id after, as in an update hook')
        const changes =
          ref !== undefined && old !== undefined && id !== undefined
            ? [{ ref, old, new: id }]
            : parseChanges(await text(io.stdin))
        const { isRefused, lines } = await judgePush(io, changes, config)
        if (!isRefused) return
        // Not on standard output, where gitolite looks for refs.
        io.stderr.write(`${lines.join('\n')}\n`)
        // At once: something may hang.
        io.exit(REFUSED)
      },
    )
  explain(gate, {
    more: [
      "The rules are git's configuration, of the repository, the user or the system: commit-status.url, " +
        'commit-status.tokenFile, and for each pattern of refs commit-status.<pattern>.require, .by, .stale and ' +
        '.allowCreate.',
      'The repository is what the service calls it: by where it stands in the folder of all repositories, which ' +
        'commit-status.repositories, else the settings of the service, else gitolite name; commit-status.repository ' +
        'names it where they do not.',
      'It never waits. Whatever it cannot be sure of is refused within 5 seconds, saying why. Exit status: 0 all may ' +
        'pass, silent; 1 refused; 2 wrong use, which git takes for a refusal too.',
    ],
    examples: [
      'exec commit-status gate                    # hooks/pre-receive',
      'exec commit-status gate "$@"               # hooks/update',
      'commit-status gate --explain main wip/fix',
    ],
  })
}

const REFUSED = 1
