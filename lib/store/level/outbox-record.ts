import type { OutboxEntry } from '../../contracts/hooks.js'
import { waitingMembers, type WaitingDelivery } from '../../contracts/records.js'
import { parseEscapedName, type RepositoryName } from '../../domain/repository-name.js'
import type { BatchOperation } from './batch.js'
import { contentCheck, decode, encode } from './record.js'

/** Keys `owner/repo/hook/subject`: those of a repository are beside one another, as its statuses are. */
export const OUTBOX = '!outbox!'

/** Keys `owner/repo/hook`: the branches that a hook was told are broken. */
export const BROKEN = '!broken!'

const isWaiting = contentCheck<WaitingDelivery>(waitingMembers)
const isBroken = contentCheck<{ readonly branches: readonly string[] }>({
  branches: { type: 'array', items: { type: 'string' } },
})

/** Whether this is the key of what waits to be told, or of broken branches. Throws as `isStatus`. */
export function isOfOutbox(key: string, value: string): boolean {
  if (key.startsWith(OUTBOX)) return isWaiting(decode(key, value, isWaiting))
  if (key.startsWith(BROKEN)) return isBroken(decode(key, value, isBroken))
  return false
}

export function outboxKey({ repository, hook, subject }: Pick<OutboxEntry, 'repository' | 'hook' | 'subject'>): string {
  return `${OUTBOX}${repository.escaped}/${hook}/${subject}`
}

/** What notes an entry. */
export function outboxPut(entry: OutboxEntry): BatchOperation {
  const { delivery, since, from } = entry
  const key = outboxKey(entry)
  return { type: 'put', key, value: encode(key, { delivery, since, from } satisfies WaitingDelivery) }
}

/** `undefined` where nothing is, or nothing that can be trusted: what is told is the status, whatever stands here. */
export function waitingAt(key: string, value: string | undefined): WaitingDelivery | undefined {
  if (value === undefined) return undefined
  try {
    return decode(key, value, isWaiting)
  } catch {
    return undefined
  }
}

/** Reads an entry back; `undefined` as `waitingAt`. */
export function entryAt(key: string, value: string | undefined): OutboxEntry | undefined {
  const waiting = waitingAt(key, value)
  const { repository, hook, subject } = partsOf(OUTBOX, key)
  return waiting && repository && { hook, repository, subject, ...waiting }
}

/** The hook that a key with either prefix is about. */
export function hookOf(prefix: string, key: string): string {
  return partsOf(prefix, key).hook
}

export function brokenKey({ escaped }: RepositoryName, hook: string): string {
  return `${BROKEN}${escaped}/${hook}`
}

/** What notes the branches that are broken. */
export function brokenPut(key: string, branches: readonly string[]): BatchOperation {
  return branches.length === 0 ? { type: 'del', key } : { type: 'put', key, value: encode(key, { branches }) }
}

export function brokenAt(key: string, value: string | undefined): readonly string[] {
  return value === undefined ? [] : decode(key, value, isBroken).branches
}

function partsOf(
  prefix: string,
  key: string,
): Pick<OutboxEntry, 'hook' | 'subject'> & { readonly repository: RepositoryName | undefined } {
  const [owner = '', name = '', hook = '', ...subject] = key.slice(prefix.length).split('/')
  return { repository: parseEscapedName(`${owner}/${name}`), hook, subject: subject.join('/') }
}
