import type { Command } from 'commander'
import type { RepositoryCounts } from '../../../lib/admin/administration.js'
import { CommandFailed } from '../../../lib/admin/client.js'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { shellWord } from '../../../lib/admin/shell-word.js'
import { errorMessage } from '../../../lib/errors.js'
import { administer } from '../administration/administer.js'
import { counted } from '../terminal/counted.js'
import { explain } from '../terminal/help.js'
import { note, printLine, warn, type Io } from '../terminal/io.js'
import { printRecords } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'

export function repoCommand(program: Command, io: Io): void {
  const repo = program
    .command('repo')
    .helpCommand(false)
    .description('list repositories, make them public or private, rename and delete what is stored of them')

  const list = repo
    .command('list')
    .description('list the repositories of the folder')
    .option('--json', 'print a JSON object for each')
    .option('--skipped', 'list what lies in the folder and is not served, with the reason')
    .action(async (options: { json?: true; skipped?: true }, command: Command) => {
      const { repositories, problems, skipped, skippedCount } = await administer(
        io,
        command,
        async (administration) => await administration.listRepositories(),
        'empty',
      )
      if (options.skipped) {
        printRecords(io, skipped, { PATH: ({ path }) => path || '.', REASON: ({ reason }) => reason }, options.json)
        if (skippedCount > skipped.length) warn(io, `and ${skippedCount - skipped.length} more`)
        return
      }
      printRecords(
        io,
        repositories,
        { REPOSITORY: (found) => found.repository, VISIBILITY: (found) => found.visibility },
        options.json,
      )
      for (const problem of problems) warn(io, `not listed: ${visible(problem)}`)
      if (problems.length > 0) io.exitCode = 1
      if (skippedCount > 0) note(io, `${skippedCount} in the folder are not served: see repo list --skipped`)
    })
  explain(list, {
    more: [
      'What cannot be read is named on standard error, the rest is listed, and the exit status is 1.',
      'With --skipped the first 20 are listed, and how many more there are stands on standard error.',
    ],
    examples: ['commit-status repo list', 'commit-status repo list --skipped'],
  })

  for (const visibility of ['public', 'private'] as const) {
    const set = repo
      .command(visibility)
      .description(
        visibility === 'public'
          ? 'let everybody read (makes git-daemon-export-ok)'
          : 'let only users with a right read (removes git-daemon-export-ok)',
      )
      .argument('<owner/repo>')
      .action(async (repository: string, _options: unknown, command: Command) => {
        await administer(
          io,
          command,
          async (administration, by) => {
            await administration.setVisibility(repository, visibility, by).catch((error: unknown) => {
              throw withWayOut(error, visibility)
            })
          },
          'made',
        )
      })
    explain(set, { examples: [`commit-status repo ${visibility} alice/hello`] })
  }

  const rename = repo
    .command('rename')
    .description('move the statuses and grants of a repository to its new name')
    .argument('<from>', 'owner/repo')
    .argument('<to>', 'owner/repo')
    .option('--json', 'print a JSON object')
    .action(async (from: string, to: string, options: { json?: true }, command: Command) => {
      const counts = await administer(
        io,
        command,
        async (administration, by) => await administration.renameRepository(from, to, by),
      )
      printLine(
        io,
        options.json
          ? jsonLine({ from, to, ...counts })
          : `${describeRepositoryCounts(counts)} moved from ${from} to ${to}`,
      )
    })
  explain(rename, {
    more: [
      'The repository itself is moved by the git server, best before this. All or nothing is moved. Where <to> has a ' +
        'status of the same commit and context, the later one stays; grants on <to> go.',
    ],
    examples: ['commit-status repo rename alice/hello alice/world'],
  })

  const remove = repo
    .command('delete')
    .description('remove the statuses and grants of a repository')
    .argument('<owner/repo>')
    .option('--yes', 'do it; otherwise it is only said what would go')
    .option('--json', 'print a JSON object')
    .action(async (repository: string, options: { yes?: true; json?: true }, command: Command) => {
      if (!options.yes) {
        const counts = await administer(
          io,
          command,
          async (administration) => await administration.countRepository(repository),
        )
        warn(
          io,
          `this would remove ${describeRepositoryCounts(counts)} of ${repository}, for good; say ` + `--yes to do it`,
        )
        io.exitCode = 2
        return
      }
      const counts = await administer(
        io,
        command,
        async (administration, by) => await administration.deleteRepository(repository, by),
      )
      printLine(
        io,
        options.json
          ? jsonLine({ repository, ...counts })
          : `${describeRepositoryCounts(counts)} of ${repository} removed`,
      )
    })
  explain(remove, {
    more: [
      'The repository itself is removed by the git server. Without --yes nothing is done, what would go is counted, ' +
        'and the exit status is 2.',
    ],
    examples: ['commit-status repo delete alice/hello', 'commit-status repo delete alice/hello --yes'],
  })
}

/** The service may not write where repositories are, as in its sandbox: who owns them does it. */
function withWayOut(error: unknown, visibility: 'public' | 'private'): unknown {
  const [text, path] = /^(?:EACCES|EROFS|EPERM): .* '(.*)'$/.exec(errorMessage(error)) ?? []
  if (text === undefined || path === undefined) return error
  const line = `${visibility === 'public' ? 'touch' : 'rm -f'} ${shellWord(path)}`
  return new CommandFailed(`${text}; run as the user of the git server: ${line}`, { cause: error })
}

function describeRepositoryCounts({ statuses, grants }: RepositoryCounts): string {
  return `${counted(statuses, 'status', 'statuses')}, ${counted(grants, 'grant')}`
}
