import { Argument, type Command } from 'commander'
import type { CheckedAccess } from '../../../lib/admin/administration.js'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { administer } from '../administration/administer.js'
import { explain } from '../terminal/help.js'
import { grantEffects, noteEffects } from '../administration/effects.js'
import { printLine, type Io } from '../terminal/io.js'
import { printRecords } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'

export function accessCommand(program: Command, io: Io): void {
  const access = program
    .command('access')
    .helpCommand(false)
    .description('grant, revoke and list rights on repositories')

  const grant = access
    .command('grant')
    .description('grant a user a right on a repository, or on all repositories of an owner')
    .argument('<owner[/repo]>')
    .argument('<user>')
    .addArgument(new Argument('<access>').choices(['read', 'write']))
    .action(async (on: string, user: string, level: string, _options: unknown, command: Command) => {
      await administer(
        io,
        command,
        async (administration, by) => {
          await administration.grantAccess(on, user, level, by)
          const { settingsOf } = await import('../administration/command-settings.js')
          const { topOwner } = settingsOf(io, command)
          await noteEffects(io, async () => await grantEffects(administration, on, topOwner))
        },
        'made',
      )
    })

  explain(grant, {
    more: [
      'The user named like the owner has write without a grant. A grant takes the place of an earlier one of the ' +
        'same user on the same owner or repository.',
    ],
    examples: ['commit-status access grant alice/hello bob write', 'commit-status access grant alice ci read'],
  })

  const revoke = access
    .command('revoke')
    .description('revoke a right')
    .argument('<owner[/repo]>')
    .argument('<user>')
    .action(async (on: string, user: string, _options: unknown, command: Command) => {
      await administer(io, command, async (administration, by) => {
        await administration.revokeAccess(on, user, by)
      })
    })

  explain(revoke, { examples: ['commit-status access revoke alice/hello bob'] })

  const check = access
    .command('check')
    .description('show what a user may do with a repository, and why')
    .argument('<user>')
    .argument('<owner/repo>')
    .option('--json', 'print a JSON object')
    .action(async (user: string, repository: string, options: { json?: true }, command: Command) => {
      const checked = await administer(io, command, async (admin) => await admin.checkAccess(user, repository))
      if (options.json) {
        printLine(io, jsonLine({ user, repository, ...checked }))
        return
      }
      printLine(io, describeAccess(checked))
      for (const [right, said] of Object.entries(checked.said ?? {})) printLine(io, `  ${right}  ${visible(said)}`)
    })
  explain(check, {
    more: ['The highest right counts. Limits of a token may leave less: see token list.'],
    examples: ['commit-status access check bob alice/hello'],
  })

  const list = access
    .command('list')
    .description('list grants; those of an owner include its repositories')
    .argument('[owner[/repo]]')
    .option('--json', 'print a JSON object for each')
    .action(async (on: string | undefined, options: { json?: true }, command: Command) => {
      const grants = await administer(
        io,
        command,
        async (administration) => await administration.listAccess(on ?? null),
      )
      printRecords(
        io,
        grants,
        { ON: (grant) => grant.on, USER: (grant) => grant.user, ACCESS: (grant) => grant.access },
        options.json,
      )
    })
  explain(list, {
    examples: [
      'commit-status access list alice',
      'commit-status access list --json | jq -r \'select(.access == "write").user\'',
    ],
  })
}

const REASONS = { owner: 'being the owner', public: 'being public', command: 'the git server' } as const

function describeAccess({ access, rights, exists, said }: CheckedAccess): string {
  const why = rights.map(({ access: given, by }) => {
    const words = typeof by === 'object' ? `the grant on ${by.grant}` : REASONS[by]
    return `${given} by ${words}`
  })
  const [first = access, ...more] = why
  return [
    first,
    ...more.map((words) => `also ${words}`),
    ...(exists ? (said === null ? ['the git server cannot have such a name'] : []) : ['there is no such repository']),
  ].join('; ')
}
