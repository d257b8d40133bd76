import { text } from 'node:stream/consumers'
import { Option, type Command } from 'commander'
import type { ListedToken } from '../../../lib/admin/administration.js'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { tokenDigest } from '../../../lib/auth/token.js'
import { isLimited, type TokenLimits } from '../../../lib/contracts/token-limits.js'
import { administer } from '../administration/administer.js'
import { counted } from '../terminal/counted.js'
import { explain } from '../terminal/help.js'
import { noteEffects, tokenEffects } from '../administration/effects.js'
import { looksLikeToken } from '../terminal/looks-like-token.js'
import { printLine, type Io } from '../terminal/io.js'
import { printRecords } from '../terminal/output.js'
import { repeated } from '../terminal/repeated.js'
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
    .option('--repository <owner/repo>', 'only for this repository; may be given several times', repeated)
    .option('--contexts <pattern>', 'only for these contexts, * for any characters; several times', repeated)
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
        await administer(
          io,
          command,
          async (administration, by) => {
            const made = await administration.createToken(request, by)
            printLine(
              io,
              options.json ? jsonLine(made) : `${describeToken(made)} It is shown this once:\n${made.token}`,
            )
            await noteEffects(io, async () => await tokenEffects(administration, user, repositories ?? []))
          },
          'made',
        )
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
    more: ['LAST USED is the hour in which the token was used last, as it begins.'],
    examples: [
      'commit-status token list alice',
      "commit-status token list --json | jq -r 'select(.last_used_at == null).id'",
    ],
  })

  const revoke = token
    .command('revoke')
    .description('revoke a token, or all of a user; it is refused from now on')
    .argument('[id]', 'as `token list` shows it, or - for a line of standard input: the id, or the token itself')
    .option('--user <name>', 'all tokens of this user')
    .action(async (given: string | undefined, options: { user?: string }, command: Command) => {
      const { user } = options
      if ((given === undefined) === (user === undefined))
        command.error('error: give either the id of a token or --user')
      const id = given === undefined ? undefined : given === '-' ? await idOnInput(io, command) : idOf(given)
      await administer(io, command, async (administration, by) => {
        if (id !== undefined) await administration.revokeToken(id, by)
        if (user === undefined) return
        const tokens = await administration.listTokens(user)
        for (const token of tokens) await administration.revokeToken(token.id, by)
        printLine(io, `revoked ${counted(tokens.length, 'token')} of ${user}`)
      })
    })
  explain(revoke, {
    more: ['Of a token that has leaked the id need not be known. No message shows it.'],
    examples: [
      'commit-status token revoke 0123456789ab',
      'commit-status token revoke - < leaked.txt',
      'commit-status token revoke --user alice',
    ],
  })
}

async function idOnInput(io: Io, command: Command): Promise<string> {
  const id = idOf((await text(io.stdin)).trim())
  // Not shown: it may be a secret all the same.
  return /^[\w-]{1,100}$/.test(id) ? id : command.error('error: standard input has neither a token nor the id of one')
}

/** The id of what was given: an id, or a token, which no message may show, whole or mutilated. */
function idOf(given: string): string {
  return looksLikeToken(given) ? tokenDigest(given).id : given
}

/** When a token expires: ISO 8601, or `never`. */
function expiry(text: string): string {
  return text === 'never' ? text : timeOf(text, 'from now', ', or never')
}

function describeToken(made: ListedToken): string {
  return (
    `Token ${made.id} of ${made.user}, ` +
    `${made.scopes.length > 0 ? `scope ${made.scopes.join(', ')}` : 'no scope'}, ` +
    (made.expires_at === null ? 'never expires' : `expires ${made.expires_at}`) +
    `${isLimited(made) ? `; limited to ${describeLimits(made)}` : ''}.`
  )
}

function describeLimits({ repositories, contexts, access }: TokenLimits): string {
  return [
    ...(repositories ?? []),
    ...(contexts ?? []).map((pattern) => visible(JSON.stringify(pattern))),
    ...(access ? [access] : []),
  ].join(' ')
}
