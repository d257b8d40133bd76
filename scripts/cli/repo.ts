import type { Command } from 'commander'
import { administer } from './administration.js'
import { printRecords } from './output.js'

export function repoCommand(program: Command): void {
  const repo = program.command('repo').helpCommand(false).description('list repositories, make them public or private')

  repo
    .command('list')
    .description('list the repositories of the folder')
    .option('--json', 'print a JSON object for each')
    .action(async (options: { json?: true }, command: Command) => {
      const repositories = await administer(command, async (administration) => await administration.listRepositories())
      printRecords(repositories, { REPOSITORY: (found) => found.repository, VISIBILITY: (found) => found.visibility }, options.json)
    })

  for (const visibility of ['public', 'private'] as const) {
    repo
      .command(visibility)
      .description(visibility === 'public' ? 'let everybody read (makes git-daemon-export-ok)' : 'let only users with a right read (removes git-daemon-export-ok)')
      .argument('<owner/repo>')
      .action(async (repository: string, _options: unknown, command: Command) => {
        await administer(command, async (administration) => {
          await administration.setVisibility(repository, visibility)
        })
      })
  }
}
