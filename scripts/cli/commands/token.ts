import { Option, type Command } from 'commander'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { isLimited, type TokenLimits } from '../../../lib/contracts/token-limits.js'
import { administer } from '../administration/administer.js'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'
import { printRecords } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'
import { timeOf } from '../terminal/time.js'

export function tokenCommand(program: Command, io: Io): void {
  const token = program
    .command('token')
    .helpCommand(false)
    .description('create, list and revoke personal access tokens')

  const create = token
    .command('create')
    .description('create a token; its value is printed once, on the last line')
    .argument('<user>', 'whom it speaks for')
    .option('--name <text>', 'what it is for', '')
    .addOption(
      new Option('--expires <when>', '30s, 15m, 12h, 90d, an ISO 8601 date, or never')
        .default('never')
        .argParser(expiry),
    )
    .addOption(new Option('--scopes <scope>', 'what it may be used for').choices(['repo', 'none']).default('repo'))
    .option('--repository <owner/repo>', 'only for this repository; may be given several times', listOf)
    .option('--contexts <pattern>', 'only for these contexts, * for any characters; several times', listOf)
    .addOption(new Option('--access <level>', 'the most it can do there').choices(['read', 'write']).default('write'))
    .option('--json', 'print it as JSON')
    .action(
      async (
        user: string,
        options: {
          name: string
          expires: string | null
          scopes: string
          repository?: string[]
          contexts?: string[]
          access: 'read' | 'write'
          json?: true
        },
        command: Command,
      ) => {
        const { name, repository: repositories, contexts, access } = options
        const scopes = options.scopes === 'none' ? [] : [options.scopes]
        const expiresAt = options.expires === 'never' ? null : options.expires
        const request = {
          ...{ user, name, scopes, expiresAt, access },
          ...(repositories && { repositories }),
          ...(contexts && { contexts }),
        }
        const made = await administer(
          io,
          command,
          async (administration, by) => await administration.createToken(request, by),
          'made',
        )
        if (options.json) {
          printLine(io, jsonLine(made))
          return
        }
        printLine(
          io,
          `Token ${made.id} of ${made.user}, ` +
            `${made.scopes.length > 0 ? `scope ${made.scopes.join(', ')}` : 'no scope'}, ` +
            (made.expires_at === null ? 'never expires' : `expires ${made.expires_at}`) +
            `${isLimited(made) ? `; limited to ${describeLimits(made)}` : ''}. It is shown this once:`,
        )
        printLine(io, made.token)
      },
    )

  explain(create, {
    more: [
      'Only a digest of the token is stored. The token speaks for the user: it can do what the user has a right to, ' +
        'or that much of it that --repository, --contexts and --access leave. Limits cannot be changed later.',
    ],
    examples: [
      'commit-status token create alice --name "CI of hello" --expires 90d',
      'TOKEN=$(commit-status token create alice | tail -n 1)',
      "commit-status token create ci --repository alice/hello --contexts 'test/*' --contexts build",
      'commit-status token create gate --access read',
    ],
  })

  const list = token
    .command('list')
    .description('list tokens (never their values)')
    .argument('[user]', 'only those of one user')
    .option('--json', 'print a JSON object for each')
    .action(async (user: string | undefined, options: { json?: true }, command: Command) => {
      const tokens = await administer(
        io,
        command,
        async (administration) => await administration.listTokens(user ?? null),
      )
      printRecords(
        io,
        tokens,
        {
          ID: (token) => token.id,
          USER: (token) => token.user,
          SCOPES: (token) => token.scopes.join(',') || 'none',
          CREATED: (token) => token.created_at,
          EXPIRES: (token) => token.expires_at ?? 'never',
          'LAST USED': (token) => token.last_used_at ?? 'never',
          LIMITS: (token) => (isLimited(token) ? describeLimits(token) : 'none'),
          NAME: (token) => token.name,
        },
        options.json,
      )
    })

  explain(list, {
    examples: [
      'commit-status token list alice',
      "commit-status token list --json | jq -r 'select(.last_used_at == null).id'",
    ],
  })

  const revoke = token
    .command('revoke')
    .description('revoke a token; it is refused from now on')
    .argument('<id>', 'as `token list` shows it')
    .action(async (id: string, _options: unknown, command: Command) => {
      await administer(io, command, async (administration, by) => {
        await administration.revokeToken(id, by)
      })
    })
  explain(revoke, { examples: ['commit-status token revoke 0123456789ab'] })
}

/** When a token expires: ISO 8601, or `never`. */
function expiry(text: string): string {
  return text === 'never' ? text : timeOf(text, 'from now', ', or never')
}

/** An option that may be given several times. */
function listOf(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text]
}

function describeLimits({ repositories, contexts, access }: TokenLimits): string {
  return [
    ...(repositories ?? []),
    ...(contexts ?? []).map((pattern) => visible(JSON.stringify(pattern))),
    ...(access ? [access] : []),
  ].join(' ')
}
