import { isState, type StoredStatus } from '../../domain/commit-status.js'
import { statusExtras, statusMembers } from '../../contracts/records.js'
import type { RepositoryStatus } from '../../contracts/store-administration.js'
import type { ObjectId } from '../../domain/object-id.js'
import { parseEscapedName, type RepositoryName } from '../../domain/repository-name.js'
import type { StatusText } from '../../domain/status-list.js'
import { contentCheck, damaged, decode, decodeText, encode } from './record.js'

/** The content of a value: the commit and the context are in the key, `owner/repo/sha/context`. */
type Stored = Omit<StoredStatus, 'sha' | 'context'>

const { sha: _sha, context: _context, ...storedMembers } = statusMembers
const isStored = contentCheck<Stored, keyof typeof statusExtras>(storedMembers, statusExtras)

/** `owner/repo/sha/context`: no name holds a slash, so none can be taken for another's commit. */
const KEY = /^[\w.+@~,=-]+\/(?:[\w.+@~,=-]|%2F)+\/(?:[0-9a-f]{40}|[0-9a-f]{64})\/./s

/**
 * Whether this is the key of a status.
 * @throws StoreCorrupt when it is, and the value is damaged
 */
export function isStatus(key: string, value: string): boolean {
  if (!KEY.test(key)) return false
  decode(key, value, isStored)
  return true
}

/** Time of a status's last update; a damaged value counts as older than any other. */
export function updatedAt(key: string, value: string): string {
  try {
    return decode(key, value, isStored).updated_at
  } catch {
    return ''
  }
}

/** The key and the value of a status. */
export function toEntry(
  repository: RepositoryName,
  { sha, context, id, state, description, target_url, created_at, updated_at, reporter, pending_since }: StoredStatus,
): { key: string; value: string } {
  const key = `${repository.escaped}/${sha}/${context}`
  // The order counts: see `statusText`. Named one by one, as below: a rest pattern takes several times as long.
  const content = { id, state, description, target_url, created_at, updated_at, reporter, pending_since }
  return { key, value: encode(key, content) }
}

/**
 * Reads an entry back.
 * @param previous an entry that was read before, whose repository may be this one's too
 * @throws StoreCorrupt when it is no status, or damaged
 */
export function parseStatus(key: string, value: string, previous?: RepositoryStatus): RepositoryStatus {
  const end = key.indexOf('/', key.indexOf('/') + 1)
  const name = key.slice(0, end)
  const repository = previous?.repository.escaped === name ? previous.repository : parseEscapedName(name)
  if (!repository || !KEY.test(key)) throw damaged(key)
  return { repository, status: fromStored(repository, key, value) }
}

/** Makes the text that is sent without parsing: the members stand in the order in which `entryOf` writes them. */
export function statusText({ hex }: ObjectId, key: string, value: string, context: string): StatusText {
  const text = decodeText(key, value)
  const [start, id, state] = /^\{"id":("[^"\\]*"),"state":"([a-z]+)"/.exec(text) ?? []
  if (start === undefined || id === undefined || state === undefined || !isState(state)) throw damaged(key)
  const head = `{"id":${id},"sha":"${hex}","context":${JSON.stringify(context)},"state":"${state}"`
  // No text in JSON can look like these, since its quotes are escaped.
  let end = text.indexOf(',"reporter":', start.length)
  const reporter = end === -1 ? undefined : userOf(key, text.slice(end))
  if (end === -1) end = text.indexOf(',"pending_since":', start.length)
  if (end === -1) return { state, json: head + text.slice(start.length), reporter }
  return { state, json: `${head}${text.slice(start.length, end)}}`, reporter }
}

/** Reads the user of a reporter, whose first member it is. */
function userOf(key: string, reporter: string): string {
  const [, user] = /"user":("[^"\\]*(?:\\.[^"\\]*)*")/.exec(reporter) ?? []
  if (user === undefined) throw damaged(key)
  return String(JSON.parse(user))
}

export function fromStored(repository: RepositoryName, key: string, value: string): StoredStatus {
  const rest = key.slice(repository.escaped.length + 1)
  const sha = rest.slice(0, rest.indexOf('/'))
  const context = rest.slice(sha.length + 1)
  const { id, state, description, target_url, created_at, updated_at, reporter, pending_since } = decode(
    key,
    value,
    isStored,
  )
  return {
    ...{ id, sha, context, state, description, target_url, created_at, updated_at },
    ...(reporter && { reporter }),
    ...(pending_since !== undefined && { pending_since }),
  }
}
