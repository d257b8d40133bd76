import type { RepositoryName } from '../../domain/repository-name.js'
import { batchLoader, rowOfKey, type BatchLoader } from './batch-loader.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'
import { grantedTo, placesOf, type GrantedRow } from './grants.js'
import { COLUMNS, type TokenRow } from './tokens.js'

/** Of each who logs in a row, with the failures of the client, the token and the grants, as far as they are there. */
const LOG_INS: Statement = {
  name: 'log-ins',
  text: `SELECT asked.at, f.failures, f.ends_at, ${COLUMNS.replace(/\w+/g, 't.$&')},
  ${grantedTo('t.user_name')}
FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[]) WITH ORDINALITY
  AS asked (client, token, owner, repository, at)
LEFT JOIN commit_status.auth_failures AS f ON f.client = asked.client
LEFT JOIN commit_status.tokens AS t ON t.id = asked.token`,
}

/** What somebody logs in with, from where, and for what. */
export interface LogInKey {
  readonly client: string
  readonly tokenId: string
  readonly repository: RepositoryName | undefined
}

/** The failures of a client since the first one that counts. */
export interface Failures {
  readonly failures: number
  /** Milliseconds since 1970, as text. */
  readonly ends_at: string
}

export type LogInRow = (Failures | { readonly failures: null; readonly ends_at: null }) &
  (TokenRow | { readonly id: null }) &
  GrantedRow

/** Reads everything about who logs in; those who do so together share the statement. */
export function logInLoader(database: PostgresDatabase): BatchLoader<LogInKey, LogInRow | undefined> {
  return batchLoader(async (keys) => {
    const rows = await database.query<LogInRow & { readonly at: string }>(LOG_INS, [
      keys.map(({ client }) => client),
      keys.map(({ tokenId }) => Buffer.from(tokenId)),
      ...placesOf(keys),
    ])
    return rowOfKey(keys, rows)
  })
}
