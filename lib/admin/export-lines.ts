import { createHash } from 'node:crypto'
import type { Grant, TokenRecord, TokenUse } from '../contracts/records.js'
import type { RepositoryStatus } from '../contracts/store-administration.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { jsonLine } from './ndjson.js'

/**
 * The form in which a store is moved to another one, of whatever kind: lines of JSON, each with a member `type`.
 * `export` comes first and has the version; then `token` and `grant` (on owners, `on` being one), then for each
 * repository its `grant` and its `status` lines; at the end comes `end`, with the number of the lines between, and the
 * SHA-256 of all bytes before it.
 */
export const VERSION = 1

export type ExportRecord =
  | { readonly type: 'token'; readonly token: TokenRecord & TokenUse }
  | { readonly type: 'grant'; readonly grant: Grant }
  | ({ readonly type: 'status' } & RepositoryStatus)

/** Which repository a record is about; `undefined` for tokens and for grants on an owner. */
export function repositoryOf(record: ExportRecord): RepositoryName | undefined {
  if (record.type === 'token') return undefined
  return record.type === 'grant' ? record.grant.repository : record.repository
}

/** Makes the lines of an export, in the order in which it is asked for them. */
export class ExportLines {
  readonly #digest = createHash('sha256')
  #records = 0

  /** @param repository the one it is of, `null` when it is of the whole store */
  first(repository: RepositoryName | null): string {
    return this.#digested({ type: 'export', version: VERSION, repository: repository?.full ?? null })
  }

  of(record: ExportRecord): string {
    this.#records++
    return this.#digested(contentOf(record))
  }

  last(): string {
    return JSON.stringify({ type: 'end', records: this.#records, sha256: this.#digest.digest('hex') })
  }

  #digested(content: object): string {
    const line = jsonLine(content)
    this.#digest.update(`${line}\n`)
    return line
  }
}

function contentOf(record: ExportRecord): object {
  if (record.type === 'token') return { type: 'token', ...record.token }
  if (record.type === 'grant')
    return {
      type: 'grant',
      on: record.grant.repository?.full ?? record.grant.owner,
      user: record.grant.user,
      access: record.grant.access,
    }
  return { type: 'status', repository: record.repository.full, ...record.status }
}
