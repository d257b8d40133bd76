import { createHash } from 'node:crypto'
import type { Reporter, StoredStatus } from '../domain/commit-status.js'
import { errorMessage } from '../errors.js'
import { parseObjectId } from '../domain/object-id.js'
import {
  grantMembers,
  recordSchema,
  statusExtras,
  statusMembers,
  tokenExtras,
  tokenMembers,
  tokenUseMembers,
  type Grant,
  type TokenRecord,
  type TokenUse,
} from '../contracts/records.js'
import { limitsOf } from '../contracts/token-limits.js'
import { parseFields } from '../domain/report.js'
import { isStoredName, isUserName, parseStoredName, type RepositoryName } from '../domain/repository-name.js'
import { Schema } from '../domain/schema.js'
import { checkLimits, checkTokenName, ID } from './arguments.js'
import { VERSION, type ExportRecord } from './export-lines.js'

/** How far the clocks of two machines may be apart. */
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000

/** A line is not what an export has there; the message says which, and why. */
export class InvalidExport extends Error {
  override readonly name = 'InvalidExport'
}

/** Checks the lines of an export, in their order. */
export class ExportCheck {
  readonly #digest = createHash('sha256')
  readonly #latest: string
  #lines = 0
  #isEnded = false

  /** @param now milliseconds since 1970 UTC */
  constructor(now: number) {
    this.#latest = new Date(now + DAY_MILLISECONDS).toISOString()
  }

  /**
   * Checks the next line.
   * @returns the record in it; `undefined` for the first and the last line
   * @throws InvalidExport
   */
  take(line: string): ExportRecord | undefined {
    this.#lines++
    try {
      const record = this.#read(line)
      if (record) this.#refuseFuture(record)
      this.#digest.update(`${line}\n`)
      return record
    } catch (error) {
      throw new InvalidExport(`line ${this.#lines} is not what an export has there: ${errorMessage(error)}`)
    }
  }

  /** Ends the check, after the last line. @throws InvalidExport unless everything has been there */
  end(): void {
    if (!this.#isEnded) throw new InvalidExport(this.#lines === 0 ? 'it is empty' : 'its end is missing')
  }

  #read(line: string): ExportRecord | undefined {
    if (this.#isEnded) throw new Error('there should be no more lines')
    if (this.#lines > 1 && !isEnd(line)) return recordOf(line)
    if (this.#lines === 1) checkFirst(line)
    else this.#checkEnd(line)
    return undefined
  }

  /** A time that no report reaches would stay for good, since `updated_at` never goes back. */
  #refuseFuture(record: ExportRecord): void {
    if (record.type === 'grant') return
    const { created_at, ...more } = record.type === 'status' ? record.status : record.token
    const other = 'updated_at' in more ? more.updated_at : more.last_used_at
    // Times of this form sort as text.
    const late = [created_at, other ?? ''].find((time) => time > this.#latest)
    if (late !== undefined) throw new Error(`${late} is more than a day ahead`)
  }

  #checkEnd(line: string): void {
    const end = parsed(line)
    if (!isLast(end)) throw new Error('it is no end')
    if (end.records !== this.#lines - 2)
      throw new Error(`it counts ${end.records} records, and there are ${this.#lines - 2}`)
    if (end.sha256 !== this.#digest.copy().digest('hex'))
      throw new Error('the lines before it are not those that were written (SHA-256)')
    this.#isEnded = true
  }
}

const text = { type: 'string' }
const id = { type: 'string', pattern: ID.source }

const isFirst = new Schema<{ version: number }>(
  line('export', { version: { type: 'integer' }, repository: { type: ['string', 'null'] } }),
).is
const isLast = new Schema<{ records: number; sha256: string }>(
  line('end', { records: { type: 'integer' }, sha256: text }),
).is
const isStatus = new Schema<{ repository: string } & StoredStatus>(
  line('status', { ...statusMembers, repository: text, id }, statusExtras),
).is
const isGrant = new Schema<{ on: string; user: string; access: 'read' | 'write' }>(
  line('grant', { on: text, user: text, ...grantMembers }),
).is
const isToken = new Schema<TokenRecord & TokenUse>(
  line(
    'token',
    {
      ...tokenMembers,
      ...tokenUseMembers,
      id,
      digest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      scopes: { type: 'array', items: { const: 'repo' } },
    },
    tokenExtras,
  ),
).is

/** The schema of a line of this type, with these members, maybe some of the others, and no more. */
function line(
  type: string,
  members: Readonly<Record<string, object>>,
  others: Readonly<Record<string, object>> = {},
): object {
  return { ...recordSchema({ type: { const: type }, ...members }, others), additionalProperties: false }
}

function parsed(line: string): unknown {
  return JSON.parse(line)
}

function checkFirst(line: string): void {
  const first = parsed(line)
  if (!isFirst(first)) throw new Error('it is no export')
  if (first.version !== VERSION)
    throw new Error(`it is of version ${first.version}, and this program knows version ${VERSION}`)
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
  if (isGrant(content))
    return { type: 'grant', grant: { ...target(content.on), user: checkedUser(content.user), access: content.access } }
  if (isToken(content)) {
    const { id, digest, user, name, scopes, created_at, expires_at, last_used_at } = content
    const limits = limitsOf(content)
    checkLimits(limits)
    checkTokenName(name)
    for (const time of [created_at, expires_at, last_used_at]) if (time !== null) checkTime(time)
    return {
      type: 'token',
      token: { id, digest, user: checkedUser(user), name, scopes, created_at, expires_at, last_used_at, ...limits },
    }
  }
  throw new Error('it is no status, grant or token')
}

/** By the rules that every status has kept: a store relies on them. */
function statusOf({
  repository: full,
  id,
  sha,
  context,
  state,
  description,
  target_url,
  created_at,
  updated_at,
  reporter,
  pending_since,
}: { repository: string } & StoredStatus): ExportRecord {
  const repository = checkedRepository(full)
  if (parseObjectId(sha)?.hex !== sha) throw new Error('sha is no commit id')
  const report = parseFields(state, { state, context, description, target_url })
  for (const time of [created_at, updated_at]) checkTime(time)
  if (updated_at < created_at) throw new Error('updated_at is before created_at')
  if (pending_since !== undefined) {
    checkTime(pending_since)
    if (pending_since < created_at || pending_since > updated_at)
      throw new Error('pending_since is not between created_at and updated_at')
  }
  return {
    type: 'status',
    repository,
    status: {
      ...{ id, sha, ...report, created_at, updated_at },
      ...(reporter && { reporter: reporterOf(reporter) }),
      ...(pending_since !== undefined && { pending_since }),
    },
  }
}

/** Its members alone: a line may have more in it. */
function reporterOf({ user, token }: Reporter): Reporter {
  return { user, token }
}

function target(on: string): Pick<Grant, 'owner' | 'repository'> {
  if (!on.includes('/')) {
    if (!isStoredName(on)) throw new Error(`${JSON.stringify(on)} is no name of an owner`)
    return { owner: on }
  }
  const repository = checkedRepository(on)
  return { owner: repository.owner, repository }
}

function checkedRepository(full: string): RepositoryName {
  const repository = parseStoredName(full)
  if (!repository) throw new Error(`${JSON.stringify(full)} is no name of a repository`)
  return repository
}

function checkedUser(name: string): string {
  if (!isUserName(name)) throw new Error(`${JSON.stringify(name)} is no name of a user`)
  return name
}

function checkTime(time: string): void {
  const milliseconds = Date.parse(time)
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString() !== time)
    throw new Error(`${JSON.stringify(time)} is no time`)
}
