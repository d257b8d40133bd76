import type { Command } from 'commander'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { MAX_FAILED, MAX_STATES, type CommitState } from '../../../lib/domain/commit-status.js'
import { errorMessage } from '../../../lib/errors.js'
import { CheckoutError, clonedRepository } from '../git/checkout.js'
import { gitLog, gitPager, isInColour, optionsOf, type LogLine } from '../git/git-log.js'
import { checkedUrl, givenToken, urlOption } from './address-options.js'
import { failedList, sign } from '../terminal/colours.js'
import { explain } from '../terminal/help.js'
import { warn, type Io } from '../terminal/io.js'
import { openPager } from '../terminal/pager.js'

interface LogOptions {
  readonly url?: URL
  readonly tokenFile?: string
  readonly json?: true
}

type States = ReadonlyMap<string, CommitState> | undefined

/** `git log` for people, with what a service knows of each commit. @param given the command line */
export function logCommand(program: Command, io: Io, given: readonly string[]): void {
  const log = program
    .command('log')
    .description('git log --oneline, with the state of each commit and the contexts that failed')
    .argument('[arguments...]', 'of git log')
    .allowUnknownOption()
    .addOption(urlOption())
    .option('--token-file <file>', 'file that holds a token; else COMMIT_STATUS_TOKEN; a public repository needs none')
    .option('--json', 'print a JSON object for each commit')
    .action(async (_: readonly string[], options: LogOptions, command: Command) => {
      const url = await checkedUrl(io, command, options.url)
      if (optionsOf(argumentsOf(command, given)).includes('-z'))
        command.error('error: the log has lines: -z cannot be given')
      const token = await givenToken(io, command, options.tokenFile)
      const repository = await clonedRepository(io).catch((error: unknown) => {
        if (!(error instanceof CheckoutError)) throw error
        command.error(`error: the folder does not tell the repository: ${error.message}`)
      })
      // What no other command needs.
      const { statesOf } = await import('../clients/state-client.js')
      io.exitCode = await show(
        io,
        argumentsOf(command, given),
        options.json === true,
        async (shas) => await statesOf({ url, token, repository }, shas),
      )
    })
  explain(log, {
    more: [
      'Whatever git log takes can be given; on a terminal a pager shows it, in colour, as the settings of git say ' +
        '(pager.log, color.ui). -z is refused. Exit status: that of git log.',
      `The service is asked once for ${MAX_STATES} commits. Ten contexts that failed are named, ${MAX_FAILED} with ` +
        '--json. When the service cannot be reached that is said once, and the log is shown all the same.',
    ],
    examples: [
      'commit-status log --url https://status.example.com',
      'COMMIT_STATUS_URL=https://status.example.com commit-status log --graph --all -20 -- lib',
    ],
  })
}

/** Those of git: commander takes the `--` away that stands before paths. */
function argumentsOf({ args }: Command, given: readonly string[]): string[] {
  const end = given.indexOf('--')
  if (end === -1 || args.includes('--')) return [...args]
  const paths = given.length - end - 1
  return [...args.slice(0, args.length - paths), '--', ...args.slice(args.length - paths)]
}

/** @returns the exit status */
async function show(
  io: Io,
  args: readonly string[],
  isJson: boolean,
  ask: (shas: readonly string[]) => Promise<ReadonlyMap<string, CommitState>>,
): Promise<number> {
  const isTerminal = io.stdout.isTTY === true && !isJson
  const pager = isTerminal ? await gitPager(io) : ''
  const page = openPager(io, pager)
  const isColoured = !isJson && (await isInColour(io, args, isTerminal, pager !== '' && pager !== 'cat'))
  // As git has it: names of branches on a terminal, or where they are asked for.
  const isDecorated = args.includes('--decorate') || (isTerminal && !args.includes('--no-decorate'))
  const format = isJson ? '%aI%x00%an%x00%s' : `%C(auto)%h${isDecorated ? '%d' : ''}%C(reset) %s`
  const log = gitLog(io, args, format, isColoured)
  let trouble: string | undefined
  const statesOf = async (lines: readonly LogLine[]): Promise<States> => {
    const shas = lines.flatMap(({ sha }) => sha ?? [])
    if (trouble !== undefined || shas.length === 0) return undefined
    return await ask(shas).catch((error: unknown) => void (trouble = errorMessage(error)))
  }
  const write = async (lines: readonly LogLine[]): Promise<boolean> => {
    const states = await statesOf(lines)
    const draw = isJson ? jsonOf : (line: LogLine) => lineOf(line, isColoured, states?.get(line.sha ?? ''))
    return await page.write(lines.map((line) => draw(line, states)).join(''))
  }
  let isRead = true
  for await (const lines of batches(log.lines)) {
    isRead = await write(lines)
    if (isRead) continue
    log.stop()
    break
  }
  await page.end()
  // Behind the pager, which would cover it.
  if (trouble !== undefined) warn(io, `the log is shown without states: ${trouble}`)
  return isRead ? await log.ended : 0
}

/** Lines with as many commits as may be asked for at once. */
async function* batches(lines: AsyncIterable<LogLine>): AsyncGenerator<readonly LogLine[]> {
  let batch: LogLine[] = []
  let commits = 0
  for await (const line of lines) {
    if (line.sha !== undefined && commits === MAX_STATES) {
      yield batch
      batch = []
      commits = 0
    }
    if (line.sha !== undefined) commits++
    batch.push(line)
  }
  if (batch.length > 0) yield batch
}

function lineOf({ before, sha, text }: LogLine, isColoured: boolean, known: CommitState | undefined): string {
  if (sha === undefined) return `${text}\n`
  const failed = known?.failed && known.failed.length > 0 ? `  ${failedList(known.failed, isColoured)}` : ''
  return `${before}${sign(known?.state, isColoured)} ${text}${failed}\n`
}

function jsonOf({ sha, text }: LogLine, states: States): string {
  if (sha === undefined) return ''
  const [date, author, subject] = text.split('\0')
  const { state = null, statuses = null, failed = [] } = states?.get(sha) ?? {}
  return `${jsonLine({ sha, date, author, subject, state, statuses, failed })}\n`
}
