import { InvalidArgumentError, Option, type Command } from 'commander'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { STATES } from '../../../lib/domain/commit-status.js'
import { milliseconds } from '../../../lib/domain/verdict/duration.js'
import { repositoryPath } from '../clients/service-address.js'
import { explain } from '../terminal/help.js'
import { printLine, warn, type Io } from '../terminal/io.js'
import { addressed, commitAsked, type AddressOptions } from './address-options.js'

interface ReportOptions extends AddressOptions {
  readonly state: string
  readonly context?: string
  readonly description?: string
  readonly targetUrl?: string
  readonly timeout: number
  readonly json?: true
}

/** The client of a CI agent: it needs neither the settings nor the store, and nothing of libgit2. */
export function reportCommand(status: Command, io: Io): void {
  const report = addressed(status.command('report'))
    .description('report the result of a check to a service, over HTTP')
    .argument('[owner/repo]', 'default: what the checkout is a clone of')
    .argument('[sha]', 'id of the commit, or what git knows it by here; default: what is checked out')
    .addOption(new Option('--state <state>', 'result of the check').choices(STATES).makeOptionMandatory())
    .option('--context <name>', 'name of the check; default when left out')
    .option('--description <text>', 'a few words on the result')
    .option('--target-url <url>', 'where to read more')
    .addOption(new Option('--timeout <time>', 'how long to go on trying').default(60_000, '60s').argParser(timeout))
    .option('--json', 'print the saved status as JSON')
    .action(
      async (repository: string | undefined, sha: string | undefined, options: ReportOptions, command: Command) => {
        const { state, context, description, targetUrl, timeout, json } = options
        const { url, token, repository: name, sha: commit } = await commitAsked(io, command, repository, sha, options)
        // What no other command needs.
        const { deliver } = await import('../clients/report-client.js')
        const saved = await deliver({
          address: new URL(`${repositoryPath(name)}/statuses/${commit}`, url),
          repository: name,
          token,
          report: {
            state,
            ...(context !== undefined && { context }),
            ...(description !== undefined && { description }),
            ...(targetUrl !== undefined && { target_url: targetUrl }),
          },
          milliseconds: timeout,
          onFailedAttempt: (words) => {
            warn(io, words)
          },
        })
        printLine(io, json ? jsonLine(saved) : `reported ${state} on ${name} ${commit}`)
      },
    )
  explain(report, {
    more: [
      'Retries with exponential backoff and jitter while the service cannot be reached or answers 429 or 503, until ' +
        '--timeout; Retry-After is honoured. Reporting twice is harmless.',
      'The token is never an argument: other users of the machine could read it.',
      'Exit status: 0 reported; 1 refused by the service; 2 wrong use; 3 the service was not reached, or did not ' +
        'accept the report, in time.',
    ],
    examples: [
      'make test && state=success || state=failure',
      'COMMIT_STATUS_TOKEN=cst_... commit-status status report --url https://status.example.com --context test ' +
        '--state $state',
      'commit-status status report alice/hello $(git rev-parse HEAD) --state pending --url http://127.0.0.1:8080 ' +
        '--token-file ~/.commit-status-token',
    ],
  })
}

function timeout(text: string): number {
  const time = milliseconds(text)
  if (time === undefined || time === 0 || time > LONGEST_MILLISECONDS)
    throw new InvalidArgumentError('It must be like 30s, 5m or 1h, and at most 1d.')
  return time
}

const LONGEST_MILLISECONDS = 24 * 60 * 60 * 1000
