import type { Command } from 'commander'
import { checkedUrl, givenToken, repositoryAsked, urlOption, type AddressOptions } from './address-options.js'
import { explain } from '../terminal/help.js'
import type { Io } from '../terminal/io.js'

/** Prints what is reported of a repository, over HTTP: as `status wait`, without the settings and the store. */
export function followCommand(program: Command, io: Io): void {
  const follow = program
    .command('follow')
    .description('print what is reported of a repository as it comes, over HTTP, until Ctrl-C')
    .argument('[owner/repo]', 'default: what the checkout is a clone of')
    .addOption(urlOption())
    .option('--token-file <file>', 'file that holds a token; else COMMIT_STATUS_TOKEN; a public repository needs none')
    .option('--json', 'print a JSON object for each event')
    .action(async (given: string | undefined, options: AddressOptions & { readonly json?: true }, command: Command) => {
      const url = await checkedUrl(io, command, options.url)
      const token = await givenToken(io, command, options.tokenFile)
      const repository = await repositoryAsked(io, command, given)
      // What no other command needs.
      const { follow } = await import('../follow/follow.js')
      io.exitCode = await follow(io, { url, token, repository }, options.json === true)
    })
  explain(follow, {
    more: [
      'A line for each report: time, state, commit, context, description and link; on a terminal the time of the ' +
        'clock and a short commit. --json prints the events of the API, `status` and `gap`. When the connection is ' +
        'lost it comes back by itself and goes on behind what was printed; where that is not possible, it says that ' +
        'something may be missing.',
      'Exit status: 0 ended by Ctrl-C or SIGTERM; 2 wrong use; 3 the certificate of the service is not trusted; ' +
        '4 refused: no such repository, or no right, any more.',
    ],
    examples: [
      'COMMIT_STATUS_TOKEN=cst_... commit-status follow alice/hello --url https://status.example.com',
      'commit-status follow --json | jq --unbuffered -r \'select(.status.state == "failure").status.context\'',
    ],
  })
}
