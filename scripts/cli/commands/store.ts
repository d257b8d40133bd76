import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { CommandFailed } from '../../../lib/admin/client.js'
import { jsonLine, linesOf } from '../../../lib/admin/ndjson.js'
import type { PruneFinding } from '../../../lib/admin/store-prune.js'
import { migrateStore } from '../../../lib/embedding/open-store.js'
import type { StoreCounts } from '../../../lib/contracts/store-administration.js'
import type { Task } from '../../../lib/concurrency/task.js'
import { errorMessage } from '../../../lib/errors.js'
import { levelFolder } from '../../../lib/store/address.js'
import { administer, type Use } from '../administration/administer.js'
import { userName } from '../administration/user-name.js'
import { counted } from '../terminal/counted.js'
import { explain } from '../terminal/help.js'
import { pathIn, printLine, warn, type Io } from '../terminal/io.js'
import { print, printRecords } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'
import { withProgress } from '../terminal/progress.js'
import { timeOf } from '../terminal/time.js'

export function storeCommand(program: Command, io: Io): void {
  const store = program
    .command('store')
    .helpCommand(false)
    .description('count, check, copy, move and prune what is in the store')
  for (const add of [
    statsCommand,
    exportCommand,
    importCommand,
    pruneCommand,
    verifyCommand,
    backupCommand,
    migrateCommand,
  ])
    add(store, io)
}

function statsCommand(store: Command, io: Io): void {
  const made = store
    .command('stats')
    .description('count what is in the store')
    .option('--json', 'print a JSON object')
    .option('--top <n>', 'how many repositories to list, those with the most statuses', whole, 10)
    .action(async (options: { json?: true; top: number }, command: Command) => {
      const { top, ...counts } = await work(io, command, (administration) =>
        administration.storeStatistics(options.top),
      )
      if (options.json) {
        printLine(io, jsonLine({ ...counts, top }))
        return
      }
      for (const [name, count] of Object.entries(counts)) printLine(io, `${name.padEnd(12)}  ${count ?? 'none'}`)
      if (top.length > 0) printLine(io)
      printRecords(
        io,
        top,
        { REPOSITORY: ({ repository }) => repository, STATUSES: ({ statuses }) => String(statuses) },
        false,
      )
    })
  explain(made, { examples: ['commit-status store stats --top 20'] })
}

function exportCommand(store: Command, io: Io): void {
  const made = store
    .command('export')
    .description('print everything as lines of JSON, for store import; they include the digests of tokens')
    .option('--repository <owner/repo>', 'only the statuses of one repository, and the grants on it')
    .action(async (options: { repository?: string }, command: Command) => {
      await work(
        io,
        command,
        (administration) => administration.exportStore(options.repository ?? null),
        async (lines) => {
          await print(io, `${lines.join('\n')}\n`)
        },
        true,
      )
    })
  explain(made, {
    more: ['The last line counts the others and has their SHA-256: without it, an export is not whole.'],
    examples: [
      'commit-status store export | gzip | ssh other "gunzip | commit-status store import -"',
      'commit-status store export --repository alice/hello > hello.jsonl',
    ],
  })
}

function importCommand(store: Command, io: Io): void {
  const made = store
    .command('import')
    .description('import an export, once all of it has been checked; each repository whole or not at all')
    .argument('[file]', 'a file, or - for standard input', '-')
    .option('--without-tokens', 'leave its tokens out, and so those that were revoked')
    .action(async (file: string, { withoutTokens = false }: { withoutTokens?: boolean }, command: Command) => {
      const { saved, ...counts } = await administer(
        io,
        command,
        async (administration, by, over) =>
          await withProgress(io, administration.importStore(input(io, file, over), by, withoutTokens)),
        'made',
      )
      printLine(
        io,
        `${describeStoreCounts(counts)} imported; ${saved} of the statuses were new, or later than those here`,
      )
    })
  explain(made, {
    more: [
      'Of two statuses of a context, the later updated_at wins. Grants of the export replace those of the same user. ' +
        'Importing again changes nothing.',
      'Warning: an import revives revoked tokens. Tokens that were revoked after the export become valid again, ' +
        'unless --without-tokens is given.',
    ],
    examples: ['commit-status store import hello.jsonl'],
  })
}

function pruneCommand(store: Command, io: Io): void {
  const made = store
    .command('prune')
    .description('remove statuses of what is gone, or too old (retention); without --yes, only count them')
    .option('--gone-commits', 'those whose commit is gone from its repository')
    .option('--gone-repositories', 'those whose repository is gone')
    .option('--older-than <time>', 'those not updated since: 90d, or an ISO 8601 date', (text) => timeOf(text, 'ago'))
    .option('--yes', 'remove them')
    .option('--json', 'print a JSON object for each')
    .action(
      async (
        options: { goneCommits?: true; goneRepositories?: true; olderThan?: string; yes?: true; json?: true },
        command: Command,
      ) => {
        const { goneCommits = false, goneRepositories = false, olderThan = null, yes: remove = false } = options
        if (!goneCommits && !goneRepositories && olderThan === null)
          command.error('error: say what may go: --gone-commits, --gone-repositories or --older-than')
        const findings: PruneFinding[] = []
        const { statuses, kept } = await work(
          io,
          command,
          (administration, by) => administration.pruneStore({ goneCommits, goneRepositories, olderThan, remove }, by),
          (found) => {
            findings.push(...found)
          },
        )
        printRecords(
          io,
          findings,
          {
            REPOSITORY: ({ repository }) => repository,
            STATUSES: (found) => String(found.statuses),
            WHY: ({ reason, because }) => (because === undefined ? reason : `${reason}: ${because}`),
          },
          options.json,
        )
        if (!options.json)
          printLine(
            io,
            `${counted(statuses, 'status', 'statuses')} ${remove ? 'removed' : 'would go; --yes removes them'}`,
          )
        if (kept === 0) return
        const words = `since it cannot be told whether ${kept === 1 ? 'it' : 'they'} may go`
        warn(io, `${counted(kept, 'status is', 'statuses are')} kept, ${words}`)
        io.exitCode = 1
      },
    )
  explain(made, {
    more: [
      'Statuses of a repository that cannot be read are kept and reported, and the exit status is 1. Grants stay: ' +
        'see repo delete.',
    ],
    examples: [
      'commit-status store prune --gone-repositories --older-than 365d',
      'commit-status store prune --gone-repositories --older-than 365d --yes',
    ],
  })
}

function verifyCommand(store: Command, io: Io): void {
  const made = store
    .command('verify')
    .description('read everything and check every checksum; exit status 1 when something is damaged')
    .option('--json', 'print a JSON object')
    .action(async (options: { json?: true }, command: Command) => {
      const findings = await work(io, command, (administration) => administration.verifyStore())
      const isSound = findings.damaged === 0 && findings.problems.length === 0
      if (!isSound) io.exitCode = 1
      if (options.json) {
        printLine(io, jsonLine(findings))
        return
      }
      for (const problem of findings.problems) printLine(io, visible(problem))
      for (const key of findings.keys) printLine(io, `damaged: ${visible(key)}`)
      if (findings.damaged > findings.keys.length) printLine(io, `and ${findings.damaged - findings.keys.length} more`)
      printLine(io, `${describeStoreCounts(findings)}, ${findings.damaged} damaged`)
      if (!isSound) warn(io, 'the store is damaged; restore it from a backup')
    })
  explain(made, { examples: ['commit-status store verify > /dev/null'] })
}

function backupCommand(store: Command, io: Io): void {
  const made = store
    .command('backup')
    .description('copy the store, as it is at one moment, while it is in use or not; the copy is a store')
    .argument('<dir>', 'a folder that is new or empty')
    .action(async (folder: string, _options: unknown, command: Command) => {
      const path = resolve(io.cwd(), folder)
      const counts = await work(io, command, (administration) => administration.backUpStore(path)).catch(
        async (error: unknown) => {
          throw await withWriter(io, command, error)
        },
      )
      printLine(io, `${describeStoreCounts(counts)} copied to ${path}`)
    })
  explain(made, {
    more: ['A running service writes the copy, as its user: into a folder where it may.'],
    examples: ['commit-status store backup /var/lib/commit-status/backup-$(date +%F)'],
  })
}

/** Names the user that could not write the copy: of the running service, or of this command, whose the store is. */
async function withWriter(io: Io, command: Command, error: unknown): Promise<unknown> {
  if (!/^(?:EACCES|EROFS|EPERM): /.test(errorMessage(error))) return error
  const { givenSettings } = await import('../administration/command-settings.js')
  const { uid } = await stat(levelFolder(givenSettings(io, command).settings.store) ?? '')
  const user = (await userName(uid)) ?? String(uid)
  const words = `the copy is written as the user ${user}: name a folder where that user may write`
  return new CommandFailed(`${errorMessage(error)}; ${words}`, { cause: error })
}

function migrateCommand(store: Command, io: Io): void {
  const made = store
    .command('migrate')
    .description(
      'make the tables of a store in a database, or bring them to the version of this program; may run anywhere ' +
        'at any time',
    )
    .option('--plain', 'leave the statuses on one server also where the database has Citus')
    .action(async ({ plain = false }: { plain?: boolean }, command: Command) => {
      const { givenSettings } = await import('../administration/command-settings.js')
      const { explained } = await import('../administration/explained-failure.js')
      const given = givenSettings(io, command)
      const spreading = (): void =>
        printLine(
          io,
          'the database has Citus: the statuses are spread over its nodes, all of a repository to one of them',
        )
      const migrated = await explained(
        io,
        given,
        async () => await migrateStore(given.settings.store, { plain, spreading }),
      )
      if (!migrated) printLine(io, 'a LevelDB store has no tables: nothing to do')
      else if (migrated.from === migrated.to) printLine(io, `the tables are of version ${migrated.to} already`)
      else printLine(io, `the tables are of version ${migrated.to} now`)
    })
  explain(made, {
    examples: ['COMMIT_STATUS_STORE=postgres://db.example.com/commit_status commit-status store migrate'],
  })
}

/** Does long work, wherever the store is. */
async function work<Result, Item>(
  io: Io,
  command: Command,
  begin: (...given: Parameters<Use<Result>>) => Task<Result, Item>,
  take?: (items: readonly Item[]) => Promise<void> | void,
  isPrinting = false,
): Promise<Result> {
  return await administer(io, command, async (...given) => await withProgress(io, begin(...given), take, isPrinting))
}

/**
 * The lines of a file, `-` being standard input; nothing is read before they are asked for.
 * @param over ends the waiting for more
 */
async function* input(io: Io, file: string, over: AbortSignal): AsyncGenerator<string> {
  const text = file === '-' ? io.stdin : createReadStream(pathIn(io, file))
  try {
    yield* linesOf(text, { signal: over })
  } finally {
    // Or this process would live for as long as whoever writes there.
    text.destroy()
  }
}

function whole(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 9999 at the most.')
  return Number(text)
}

function describeStoreCounts({ statuses, tokens, grants }: StoreCounts): string {
  return [counted(statuses, 'status', 'statuses'), counted(tokens, 'token'), counted(grants, 'grant')].join(', ')
}
