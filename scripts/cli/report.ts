import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { STATES } from '../../lib/commit-status.js'
import { parseObjectId } from '../../lib/object-id.js'
import { reasonOf } from '../../lib/reason.js'
import { parseRepositoryName } from '../../lib/repository-name.js'
import { CheckoutError, clonedRepository, headCommit } from './checkout.js'
import { toJson } from '../../lib/json-line.js'
import { milliseconds } from './duration.js'
import { explain } from './help.js'

interface ReportOptions {
  readonly state: string
  readonly context?: string
  readonly description?: string
  readonly targetUrl?: string
  readonly url?: URL
  readonly tokenFile?: string
  readonly timeout: number
  readonly json?: true
}

/** The client of a CI agent: it needs neither the settings nor the store, and nothing of libgit2. */
export function reportCommand(status: Command): void {
  const report = status
    .command('report')
    .description('report the result of a check to a service, over HTTP')
    .argument('[owner/repo]', 'default: what the checkout is a clone of')
    .argument('[sha]', 'full commit id; default: what is checked out')
    .addOption(new Option('--state <state>', 'result of the check').choices(STATES).makeOptionMandatory())
    .option('--context <name>', 'name of the check; default when left out')
    .option('--description <text>', 'a few words on the result')
    .option('--target-url <url>', 'where to read more')
    .addOption(new Option('--url <base>', 'address of the service').env('COMMIT_STATUS_URL').argParser(address))
    .option('--token-file <file>', 'file that holds the token; else the token is in COMMIT_STATUS_TOKEN')
    .addOption(new Option('--timeout <time>', 'how long to go on trying').default(60_000, '60s').argParser(timeout))
    .option('--json', 'print the saved status as JSON')
    .action(async (repository: string | undefined, sha: string | undefined, options: ReportOptions, command: Command) => {
      const { state, context, description, targetUrl, url, timeout, json } = options
      if (url === undefined) command.error('error: no address of the service: give --url, or set COMMIT_STATUS_URL')
      // Here, without the address: it may hold a password.
      if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') command.error('error: the address of the service must have no user, password, ? or #')
      const token = await tokenFor(command, options.tokenFile)
      const name = repository ?? (await fromCheckout(command, 'repository', clonedRepository))
      const commit = sha ?? (await fromCheckout(command, 'commit', headCommit))
      if (!parseRepositoryName(name)) command.error(`error: ${JSON.stringify(name)} is no repository name: <owner>/<repo>`)
      if (!parseObjectId(commit)) command.error(`error: ${JSON.stringify(commit)} is not a full 40 or 64 character hex commit id`)
      // What no other command needs.
      const { deliver } = await import('./report-client.js')
      const saved = await deliver({
        address: new URL(`api/v1/repos/${name}/statuses/${commit}`, url),
        token,
        report: { state, ...(context !== undefined && { context }), ...(description !== undefined && { description }), ...(targetUrl !== undefined && { target_url: targetUrl }) },
        milliseconds: timeout,
        onFailedAttempt: (words) => {
          console.error(`commit-status: ${words}`)
        },
      })
      console.log(json ? toJson(saved) : `reported ${state} on ${name} ${commit}`)
    })
  explain(report, {
    more: [
      'Reports again while the service cannot be reached or answers 429 or 503, for as long as --timeout says, and waits as its Retry-After asks. To report twice is harmless.',
      'The token is never an argument, which other users of the machine could read.',
      'Exit status: 0 reported; 1 refused by the service; 2 wrong use; 3 the service was not reached, or did not accept the report, in time.',
    ],
    examples: [
      'make test && state=success || state=failure',
      'COMMIT_STATUS_TOKEN=cst_... commit-status status report --url https://status.example.com --context test --state $state',
      'commit-status status report alice/hello $(git rev-parse HEAD) --state pending --url http://127.0.0.1:8080 --token-file ~/.commit-status-token',
    ],
  })
}

/** The base of the service's addresses, with a slash at its end. */
function address(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw new InvalidArgumentError('It must be like https://status.example.com.')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

function timeout(text: string): number {
  const time = milliseconds(text)
  if (time === undefined || time === 0 || time > LONGEST_MILLISECONDS) throw new InvalidArgumentError('It must be like 30s, 5m or 1h, and at most 1d.')
  return time
}

const LONGEST_MILLISECONDS = 24 * 60 * 60 * 1000

async function fromCheckout(command: Command, what: string, look: () => Promise<string>): Promise<string> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof CheckoutError)) throw error
    command.error(`error: no ${what} is given, and none can be told from the folder: ${error.message}`)
  }
}

/** No message shows what was read. */
async function tokenFor(command: Command, file: string | undefined): Promise<string> {
  const read = file === undefined ? Promise.resolve(process.env['COMMIT_STATUS_TOKEN'] ?? '') : readFile(file, 'utf8')
  const where = file ?? 'COMMIT_STATUS_TOKEN'
  const token = (await read.catch((error: unknown) => command.error(`error: the token cannot be read: ${reasonOf(error)}`))).trim()
  if (token === '') command.error(file === undefined ? 'error: no token: set COMMIT_STATUS_TOKEN, or give --token-file' : `error: there is no token in ${where}`)
  // What may stand in a header; anything longer is some other file.
  if (!/^[\x21-\x7e]{1,1000}$/.test(token)) command.error(`error: what is in ${where} is no token`)
  return token
}
