import type { Sessions } from '../auth/sessions.js'
import type { Tokens } from '../auth/tokens.js'
import { settle } from '../concurrency/maybe-promise.js'
import type { TokenRecord, TokenUse } from '../contracts/records.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import { AdministrationError, ArgumentError } from '../errors.js'
import { audited, logChange, OF_THE_HOST, type AdministrationDependencies } from './administration-dependencies.js'
import type { Administration, ListedToken } from './administration.js'
import { checkExpiry, checkFormerUser, checkLimits, checkTokenId, checkTokenName, checkUser } from './arguments.js'
import type { Actor } from './audit-log.js'

/** Tokens, and links to sign in. */
export function tokenAdministration(dependencies: AdministrationDependencies) {
  const { store } = dependencies
  return {
    async createToken(
      request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null } & TokenLimits,
      by?: Actor,
    ): Promise<{ token: string } & ListedToken> {
      const expiresAt = checkExpiry(request.expiresAt, dependencies.clock.now())
      const unknown = request.scopes.find((scope) => scope !== 'repo')
      if (unknown !== undefined) throw new ArgumentError(`there is no scope ${unknown}`)
      checkLimits(request)
      const name = checkTokenName(request.name)
      const { token, record, removed } = await tokensOf(dependencies).create({
        ...request,
        name,
        user: checkUser(request.user),
        expiresAt,
      })
      for (const { id, name: was } of removed)
        logChange(dependencies, by, { token: id, user: record.user, name: was }, 'expired token removed')
      logChange(dependencies, by, audited(record), 'token created')
      return { token, ...listed({ ...record, last_used_at: null }) }
    },

    async listTokens(user: string | null): Promise<ListedToken[]> {
      return (await store.tokens.list(user ?? undefined)).map(listed)
    },

    async revokeToken(id: string, by?: Actor): Promise<void> {
      // A damaged token can be revoked as well: then the result does not name its user.
      checkTokenId(id)
      const found = await settle(() => store.tokens.get(id))
      const record = 'value' in found ? found.value : undefined
      if (!(await store.tokens.remove(id))) throw new AdministrationError(`there is no token ${id}`)
      logChange(dependencies, by, { token: id, user: record?.user, name: record?.name }, 'token revoked')
    },

    async createSignIn(user: string, by?: Actor): Promise<{ url: string; expires_at: string }> {
      const { sessions, address } = signInsOf(dependencies)
      const { code, expiresAt } = await sessions.createLink(checkUser(user))
      const expires_at = new Date(expiresAt).toISOString()
      logChange(dependencies, by, { user, expires_at }, 'sign-in link created')
      return { url: `${address()}/sign-in?code=${code}`, expires_at }
    },

    async endSignIns(user: string, by?: Actor): Promise<number> {
      const ended = await signInsOf(dependencies).sessions.endAll(checkFormerUser(user))
      logChange(dependencies, by, { user, ended }, 'sessions ended')
      return ended
    },
  } satisfies Partial<Administration>
}

function tokensOf(dependencies: AdministrationDependencies): Tokens {
  if (!dependencies.tokens) throw new AdministrationError(`${OF_THE_HOST} tokens of its own`)
  return dependencies.tokens
}

function signInsOf(dependencies: AdministrationDependencies): {
  readonly sessions: Sessions
  readonly address: () => string
} {
  if (dependencies.signIns) return dependencies.signIns
  throw new AdministrationError(
    'nobody signs in by links here: they need the setting pages on, none in signIn.header, and with a LevelDB store ' +
      'a running service',
  )
}

function listed({ digest: _, ...token }: TokenRecord & TokenUse): ListedToken {
  return token
}
