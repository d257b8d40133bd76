import { Option, type Command } from 'commander'
import { toJson } from '../../lib/json-line.js'
import { administer } from './administration.js'
import { explain } from './help.js'
import { printRecords } from './output.js'
import { timeOf } from './time.js'

export function tokenCommand(program: Command): void {
  const token = program.command('token').helpCommand(false).description('create, list and revoke personal access tokens')

  const create = token
    .command('create')
    .description('create a token; it is printed on the last line, this once')
    .argument('<user>', 'whom it speaks for')
    .option('--name <text>', 'what it is for', '')
    .addOption(new Option('--expires <when>', '30s, 15m, 12h, 90d, an ISO 8601 date, or never').default('never').argParser(expiry))
    .addOption(new Option('--scopes <scope>', 'what it may be used for').choices(['repo', 'none']).default('repo'))
    .option('--json', 'print it as JSON')
    .action(async (user: string, options: { name: string; expires: string | null; scopes: string; json?: true }, command: Command) => {
      const { name } = options
      const scopes = options.scopes === 'none' ? [] : [options.scopes]
      const expiresAt = options.expires === 'never' ? null : options.expires
      const made = await administer(command, async (administration, by) => await administration.createToken({ user, name, scopes, expiresAt }, by))
      if (options.json) {
        console.log(toJson(made))
        return
      }
      console.log(`Token ${made.id} of ${made.user}, ${made.scopes.length > 0 ? `scope ${made.scopes.join(', ')}` : 'no scope'}, ${made.expires_at === null ? 'never expires' : `expires ${made.expires_at}`}. It is shown this once:`)
      console.log(made.token)
    })

  explain(create, {
    more: ['The token is stored nowhere, only its digest. It speaks for the user: it can do what the user has a right to.'],
    examples: ['commit-status token create alice --name "CI of hello" --expires 90d', 'TOKEN=$(commit-status token create alice | tail -n 1)'],
  })

  const list = token
    .command('list')
    .description('list tokens, never what they are')
    .argument('[user]', 'only those of one user')
    .option('--json', 'print a JSON object for each')
    .action(async (user: string | undefined, options: { json?: true }, command: Command) => {
      const tokens = await administer(command, async (administration) => await administration.listTokens(user ?? null))
      printRecords(
        tokens,
        {
          ID: (token) => token.id,
          USER: (token) => token.user,
          SCOPES: (token) => token.scopes.join(',') || 'none',
          CREATED: (token) => token.created_at,
          EXPIRES: (token) => token.expires_at ?? 'never',
          'LAST USED': (token) => token.last_used_at ?? 'never',
          NAME: (token) => token.name,
        },
        options.json,
      )
    })

  explain(list, { examples: ['commit-status token list alice', "commit-status token list --json | jq -r 'select(.last_used_at == null).id'"] })

  const revoke = token
    .command('revoke')
    .description('revoke a token; it is refused from now on')
    .argument('<id>', 'as `token list` shows it')
    .action(async (id: string, _options: unknown, command: Command) => {
      await administer(command, async (administration, by) => {
        await administration.revokeToken(id, by)
      })
    })
  explain(revoke, { examples: ['commit-status token revoke 0123456789ab'] })
}

/** When a token expires: ISO 8601, or `never`. */
function expiry(text: string): string {
  return text === 'never' ? text : timeOf(text, 'from now', ', or never')
}
