import { InvalidArgumentError, Option, type Command } from 'commander'
import { MOST_COMMITS } from '../../lib/admin/administration.js'
import { reportedCommit, type ReportedCommit } from '../../lib/admin/latest-commits.js'
import type { CommitStatus } from '../../lib/commit-status.js'
import { toJson } from '../../lib/json-line.js'
import { administer } from './administration.js'
import { explain } from './help.js'
import { watched } from './progress.js'
import { reportCommand } from './report.js'
import { statusTable } from './status-table.js'

export function statusCommand(program: Command): void {
  const status = program.command('status').helpCommand(false).description('list, report and delete statuses')

  const list = status
    .command('list')
    .description('list the statuses of a commit, or of the commits that were reported on last')
    .argument('<owner/repo>')
    .argument('[sha]', 'full commit id')
    .addOption(new Option('--limit <number>', 'how many commits, the latest first').default(20).argParser(limit))
    .option('--json', 'print a JSON object for each status')
    .action(async (repository: string, sha: string | undefined, options: { limit: number; json?: true }, command: Command) => {
      const commits = await administer(command, async (administration): Promise<readonly ReportedCommit[]> => {
        if (sha === undefined) return await watched(administration.latestCommits(repository, options.limit))
        const statuses: CommitStatus[] = []
        await watched(administration.listStatuses(repository, sha), (found) => void statuses.push(...found))
        const commit = reportedCommit(statuses)
        return commit ? [commit] : []
      })
      if (options.json) for (const each of commits.flatMap(({ statuses }) => statuses)) console.log(toJson(each))
      else if (commits.length > 0) console.log(statusTable(commits))
    })
  explain(list, {
    more: [
      'Of each commit the combined state stands on top, then the state, context, time and description of each status. On a terminal states are coloured (NO_COLOR and FORCE_COLOR are heeded) and times are relative; --json has every field and absolute times.',
    ],
    examples: ['commit-status status list alice/hello', 'commit-status status list alice/hello $(git rev-parse HEAD)', "commit-status status list alice/hello --limit 100 --json | jq -r 'select(.state == \"error\").sha'"],
  })

  reportCommand(status)

  const remove = status
    .command('delete')
    .description('remove the statuses of a commit, or the one of a context')
    .argument('<owner/repo>')
    .argument('<sha>', 'full commit id')
    .option('--context <name>', 'only the status of this context')
    .option('--json', 'print a JSON object')
    .action(async (repository: string, sha: string, options: { context?: string; json?: true }, command: Command) => {
      const { context = null, json } = options
      const statuses = await administer(command, async (administration, by) => await administration.deleteStatuses(repository, sha, context, by))
      console.log(json ? toJson({ repository, sha, context, statuses }) : `${statuses} ${statuses === 1 ? 'status' : 'statuses'} of ${repository} ${sha} removed`)
    })
  explain(remove, {
    more: ['A damaged status (`store verify` names it) is removed too: until then every report of its context is answered with 500.'],
    examples: ['commit-status status delete alice/hello $(git rev-parse HEAD) --context ci/build'],
  })
}

function limit(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < 1 || number > MOST_COMMITS) throw new InvalidArgumentError(`It must be 1 to ${MOST_COMMITS}.`)
  return number
}
