import { InvalidArgumentError, Option, type Command } from 'commander'
import { milliseconds } from '../../../lib/domain/verdict/duration.js'
import { verdictRule } from '../../../lib/domain/verdict/rule.js'
import { errorMessage } from '../../../lib/errors.js'
import { addressed, commitAsked, type AddressOptions } from './address-options.js'
import { explain } from '../terminal/help.js'
import type { Io } from '../terminal/io.js'
import { repeated } from '../terminal/repeated.js'

interface WaitOptions extends AddressOptions {
  readonly require?: string[]
  readonly by?: string[]
  readonly stale?: string
  readonly timeout: number
  readonly failFast?: true
  readonly json?: true
}

/** Waits for the verdict of a commit, over HTTP: as `status report`, it needs neither the settings nor the store. */
export function waitCommand(status: Command, io: Io): void {
  const wait = addressed(
    status
      .command('wait')
      .description('wait until what is required of a commit is there, over HTTP')
      .argument('[owner/repo]', 'default: what the checkout is a clone of')
      .argument('[sha]', 'id of the commit, or what git knows it by here; default: what is checked out')
      .option('--require <pattern>', 'a context, * for any characters; may be given several times', repeated)
      .option('--by <user>', 'only what this user reported last counts; several times', repeated)
      .option('--stale <time>', 'what is pending, and was last reported on longer ago, has failed')
      .addOption(new Option('--timeout <time>', 'how long to wait').default(60 * 60 * 1000, '1h').argParser(timeout))
      .option('--fail-fast', 'end at the first check that failed')
      .option('--json', 'print a JSON object for each status that settles, and for the verdict'),
  ).action(async (repository: string | undefined, sha: string | undefined, options: WaitOptions, command: Command) => {
    const { require = [], by = [], stale, timeout, failFast = false, json = false } = options
    const query = { require, by, ...(stale !== undefined && { stale }) }
    try {
      verdictRule(query)
    } catch (error) {
      command.error(`error: ${errorMessage(error)}`)
    }
    const commit = await commitAsked(io, command, repository, sha, options)
    // What no other command needs.
    const { waitForVerdict } = await import('../wait/wait.js')
    io.exitCode = await waitForVerdict(io, commit, query, { milliseconds: timeout, failFast, json })
  })
  explain(wait, {
    more: [
      'Prints each status once when it settles, on a terminal a live table, then the verdict. Without --require it ' +
        'succeeds when there is a status, all are green, and nothing has changed for ten seconds. Whatever fails ' +
        'on the way is tried again until the time is over: an error is never a verdict.',
      'Exit status: 0 success; 1 a check failed; 2 wrong use; 3 no verdict in time, or the service was not reached; ' +
        '4 refused: no such repository or commit, or no right.',
    ],
    examples: [
      'COMMIT_STATUS_TOKEN=cst_... commit-status status wait --url https://status.example.com --require build',
      "commit-status status wait alice/hello $(git rev-parse HEAD) --require 'test/*' --timeout 30m --fail-fast",
    ],
  })
}

function timeout(text: string): number {
  const time = milliseconds(text)
  if (!time || time > LONGEST_MILLISECONDS)
    throw new InvalidArgumentError('It must be like 30s, 5m or 1h, and at most 7d.')
  return time
}

const LONGEST_MILLISECONDS = 7 * 24 * 60 * 60 * 1000
