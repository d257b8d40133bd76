import { createHash } from 'node:crypto'
import { STATES, type CommitStatus } from '../commit-status.js'
import { toJson } from '../json-line.js'
import { parseObjectId } from '../object-id.js'
import { reasonOf } from '../reason.js'
import { keptFieldRules } from '../report.js'
import { isOwnerName, parseRepositoryName, type RepositoryName } from '../repository-name.js'
import { Schema } from '../schema.js'
import type { Grant, RepositoryStatus, TokenRecord, TokenUse } from '../store/store.js'

/**
 * The form in which a store is moved to another one, of whatever kind: lines of JSON, each with a member `type`.
 * `export` comes first and tells the version; then `token` and `grant` (on owners, `on` being one), then for each
 * repository its `grant` and its `status` lines; at the end comes `end`, with the number of the lines between, and the
 * SHA-256 of all bytes before it.
 */
const VERSION = 1

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
    const line = toJson(content)
    this.#digest.update(`${line}\n`)
    return line
  }
}

function contentOf(record: ExportRecord): object {
  if (record.type === 'token') return { type: 'token', ...record.token }
  if (record.type === 'grant') return { type: 'grant', on: record.grant.repository?.full ?? record.grant.owner, user: record.grant.user, access: record.grant.access }
  return { type: 'status', repository: record.repository.full, ...record.status }
}

/** A line is not what an export has there; the message says which, and why. */
export class ExportUnsound extends Error {
  override readonly name = 'ExportUnsound'
}

/** Checks the lines of an export, in their order. */
export class ExportCheck {
  readonly #digest = createHash('sha256')
  #lines = 0
  #isEnded = false

  /**
   * Checks the next line.
   * @returns the record in it; `undefined` for the first and the last line
   * @throws ExportUnsound
   */
  take(line: string): ExportRecord | undefined {
    this.#lines++
    try {
      const record = this.#read(line)
      this.#digest.update(`${line}\n`)
      return record
    } catch (error) {
      throw new ExportUnsound(`line ${this.#lines} is not what an export has there: ${reasonOf(error)}`)
    }
  }

  /** To be called after the last line; throws `ExportUnsound` unless everything has been there. */
  end(): void {
    if (!this.#isEnded) throw new ExportUnsound(this.#lines === 0 ? 'it is empty' : 'its end is missing')
  }

  #read(line: string): ExportRecord | undefined {
    if (this.#isEnded) throw new Error('there should be no more lines')
    if (this.#lines > 1 && !isEnd(line)) return recordOf(line)
    if (this.#lines === 1) checkFirst(line)
    else this.#checkEnd(line)
    return undefined
  }

  #checkEnd(line: string): void {
    const end = parsed(line)
    if (!isLast(end)) throw new Error('it is no end')
    if (end.records !== this.#lines - 2) throw new Error(`it counts ${end.records} records, and there are ${this.#lines - 2}`)
    if (end.sha256 !== this.#digest.copy().digest('hex')) throw new Error('the lines before it are not those that were written (SHA-256)')
    this.#isEnded = true
  }
}

const text = { type: 'string' }
const nullable = { type: ['string', 'null'] }
const id = { type: 'string', pattern: '^[\\w-]{1,100}$' }

const isFirst = new Schema<{ version: number }>(members({ type: { const: 'export' }, version: { type: 'integer' }, repository: nullable })).is
const isLast = new Schema<{ records: number; sha256: string }>(members({ type: { const: 'end' }, records: { type: 'integer' }, sha256: text })).is
const isStatus = new Schema<{ repository: string } & CommitStatus>(
  members({ type: { const: 'status' }, repository: text, id, sha: text, context: text, state: { enum: STATES }, description: nullable, target_url: nullable, created_at: text, updated_at: text }),
).is
const isGrant = new Schema<{ on: string; user: string; access: 'read' | 'write' }>(members({ type: { const: 'grant' }, on: text, user: text, access: { enum: ['read', 'write'] } })).is
const isToken = new Schema<TokenRecord & TokenUse>(
  members({
    type: { const: 'token' },
    id,
    digest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    user: text,
    name: text,
    scopes: { type: 'array', items: { const: 'repo' } },
    created_at: text,
    expires_at: nullable,
    last_used_at: nullable,
  }),
).is

function members(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', required: Object.keys(properties), properties, additionalProperties: false }
}

function parsed(line: string): unknown {
  return JSON.parse(line)
}

function checkFirst(line: string): void {
  const first = parsed(line)
  if (!isFirst(first)) throw new Error('it is no export')
  if (first.version !== VERSION) throw new Error(`it is of version ${first.version}, and this program knows version ${VERSION}`)
}

function isEnd(line: string): boolean {
  return line.startsWith('{"type":"end"')
}

/**
 * Reads the record of a line back.
 * @throws Error that says what is wrong with it
 */
export function recordOf(line: string): ExportRecord {
  const content = parsed(line)
  if (isStatus(content)) return statusOf(content)
  if (isGrant(content)) return { type: 'grant', grant: { ...target(content.on), user: checkedUser(content.user), access: content.access } }
  if (isToken(content)) {
    const { id, digest, user, name, scopes, created_at, expires_at, last_used_at } = content
    for (const time of [created_at, expires_at, last_used_at]) if (time !== null) checkTime(time)
    return { type: 'token', token: { id, digest, user: checkedUser(user), name, scopes, created_at, expires_at, last_used_at } }
  }
  throw new Error('it is no status, grant or token')
}

/** By the rules that every status has kept: a store relies on them. */
function statusOf({ repository: full, id, sha, context, state, description, target_url, created_at, updated_at }: { repository: string } & CommitStatus): ExportRecord {
  const repository = checkedRepository(full)
  if (parseObjectId(sha)?.hex !== sha) throw new Error('sha is no commit id')
  const report = keptFieldRules(state, { state, context, description, target_url })
  for (const time of [created_at, updated_at]) checkTime(time)
  if (updated_at < created_at) throw new Error('updated_at is before created_at')
  return { type: 'status', repository, status: { id, sha, ...report, created_at, updated_at } }
}

function target(on: string): Pick<Grant, 'owner' | 'repository'> {
  if (!on.includes('/')) return { owner: checkedUser(on) }
  const repository = checkedRepository(on)
  return { owner: repository.owner, repository }
}

function checkedRepository(full: string): RepositoryName {
  const repository = parseRepositoryName(full)
  if (!repository) throw new Error(`${JSON.stringify(full)} is no name of a repository`)
  return repository
}

function checkedUser(name: string): string {
  if (!isOwnerName(name)) throw new Error(`${JSON.stringify(name)} is no name of a user`)
  return name
}

function checkTime(time: string): void {
  const milliseconds = Date.parse(time)
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString() !== time) throw new Error(`${JSON.stringify(time)} is no time`)
}
