import type { Command } from 'commander'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { administer } from '../administration/administer.js'
import { givenUrl, urlOption } from './address-options.js'
import { counted } from '../terminal/counted.js'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'

interface SignInOptions {
  readonly url?: URL
  readonly end?: true
  readonly json?: true
}

/** Links that sign people in to the pages of the running service. */
export function signInCommand(program: Command, io: Io): void {
  const signIn = program
    .command('sign-in')
    .description('print a link that signs a user in to the pages, once, within ten minutes')
    .argument('<user>', 'whom it signs in')
    .addOption(urlOption())
    .option('--end', 'end the sessions and links of the user instead')
    .option('--json', 'print it as JSON')
    .action(async (user: string, options: SignInOptions, command: Command) => {
      const { end, json } = options
      const base = givenUrl(io, command, options.url)
      if (end) {
        const ended = await administer(io, command, async (admin, by) => await admin.endSignIns(user, by))
        printLine(
          io,
          json ? jsonLine({ ended }) : `ended ${counted(ended, 'session or link', 'sessions and links')} of ${user}`,
        )
        return
      }
      const made = await administer(io, command, async (admin, by) => await admin.createSignIn(user, by))
      const url = base === undefined ? made.url : new URL(`sign-in${new URL(made.url).search}`, base).href
      printLine(io, json ? jsonLine({ ...made, url }) : url)
    })
  explain(signIn, {
    more: [
      'Who opens the link is asked, and then has a session of eight hours in that browser. The link is for the ' +
        'address of --url, else for the setting publicUrl, else for the address that the service listens on.',
    ],
    examples: ['commit-status sign-in alice --url https://status.example.com', 'commit-status sign-in alice --end'],
  })
}
