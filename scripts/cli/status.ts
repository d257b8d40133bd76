import type { Command } from 'commander'
import { administer } from './administration.js'
import { printRecords } from './output.js'
import { reportCommand } from './report.js'

export function statusCommand(program: Command): void {
  const status = program.command('status').helpCommand(false).description('list statuses, report them')

  status
    .command('list')
    .description('list the statuses of a commit, or of all commits of a repository')
    .argument('<owner/repo>')
    .argument('[sha]', 'full commit id')
    .option('--json', 'print a JSON object for each')
    .action(async (repository: string, sha: string | undefined, options: { json?: true }, command: Command) => {
      const statuses = await administer(command, async (administration) => await administration.listStatuses(repository, sha ?? null))
      printRecords(
        statuses,
        {
          ...(sha === undefined && { COMMIT: (status) => status.sha }),
          STATE: (status) => status.state,
          CONTEXT: (status) => status.context,
          UPDATED: (status) => status.updated_at,
          DESCRIPTION: (status) => status.description ?? '',
        },
        options.json,
      )
    })

  reportCommand(status)
}
