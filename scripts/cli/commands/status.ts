import { InvalidArgumentError, Option, type Command } from 'commander'
import { MAX_COMMITS } from '../../../lib/admin/administration.js'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import type { ReportedItem } from '../../../lib/admin/reported-commits.js'
import { administer } from '../administration/administer.js'
import { fullCommit } from './address-options.js'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'
import { print } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { statusTable } from '../terminal/status-table.js'
import { reportCommand } from './report.js'
import { waitCommand } from './wait.js'

export function statusCommand(program: Command, io: Io): void {
  const status = program.command('status').helpCommand(false).description('list, report, wait for and delete statuses')

  const list = status
    .command('list')
    .description('list the statuses of a commit, or of the commits that were reported on last')
    .argument('<owner/repo>')
    .argument('[sha]', 'id of the commit, or what git knows it by here')
    .addOption(new Option('--limit <number>', 'how many commits, the latest first').default(20).argParser(limit))
    .option('--json', 'print a JSON object for each status')
    .action(
      async (
        repository: string,
        sha: string | undefined,
        options: { limit: number; json?: true },
        command: Command,
      ) => {
        const commit = sha === undefined ? null : await fullCommit(io, sha)
        const printer = new StatusPrinter(io, options.json ?? false)
        await administer(io, command, async (administration) => {
          const listed = administration.listCommits(repository, commit, options.limit)
          await withProgress(io, listed, async (items) => await printer.add(items), true)
        })
        await printer.end()
      },
    )
  explain(list, {
    more: [
      'Of each commit the combined state stands on top, then the state, context, time, reporter and description ' +
        'of each status. On a terminal states are coloured (NO_COLOR and FORCE_COLOR are heeded) and times are ' +
        'relative; --json has every field and absolute times.',
    ],
    examples: [
      'commit-status status list alice/hello',
      'commit-status status list alice/hello $(git rev-parse HEAD)',
      'commit-status status list alice/hello --limit 100 --json | jq -r \'select(.state == "error").sha\'',
    ],
  })

  reportCommand(status, io)
  waitCommand(status, io)

  const remove = status
    .command('delete')
    .description('remove the statuses of a commit, or the one of a context')
    .argument('<owner/repo>')
    .argument('<sha>', 'full commit id')
    .option('--context <name>', 'only the status of this context')
    .option('--json', 'print a JSON object')
    .action(async (repository: string, sha: string, options: { context?: string; json?: true }, command: Command) => {
      const { context = null, json } = options
      const statuses = await administer(
        io,
        command,
        async (administration, by) => await administration.deleteStatuses(repository, sha, context, by),
      )
      printLine(
        io,
        json
          ? jsonLine({ repository, sha, context, statuses })
          : `${statuses} ${statuses === 1 ? 'status' : 'statuses'} of ${repository} ${sha} removed`,
      )
    })
  explain(remove, {
    more: [
      'A damaged status (`store verify` names it) is removed too: until then every report of its context is ' +
        'answered with 500.',
    ],
    examples: ['commit-status status delete alice/hello $(git rev-parse HEAD) --context ci/build'],
  })
}

/** As many are held until they are drawn as one table: the time for it grows with their square. */
const TABLE_ITEMS = 200

/** Prints commits with their statuses as they come: however many there are, no more than a table of them is held. */
class StatusPrinter {
  readonly #io: Io
  readonly #isJson: boolean
  #held: ReportedItem[] = []
  #isFirst = true

  constructor(io: Io, isJson: boolean) {
    this.#io = io
    this.#isJson = isJson
  }

  async add(items: readonly ReportedItem[]): Promise<void> {
    if (this.#isJson) {
      const lines = items.flatMap((item) => ('status' in item ? [`${jsonLine(item.status)}\n`] : []))
      await print(this.#io, lines.join(''))
      return
    }
    this.#held.push(...items)
    if (this.#held.length >= TABLE_ITEMS) await this.end()
  }

  /** Prints what is held. */
  async end(): Promise<void> {
    if (this.#held.length === 0) return
    await print(this.#io, `${statusTable(this.#io, this.#held, this.#isFirst)}\n`)
    this.#isFirst = false
    this.#held = []
  }
}

function limit(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < 1 || number > MAX_COMMITS)
    throw new InvalidArgumentError(`It must be 1 to ${MAX_COMMITS}.`)
  return number
}
