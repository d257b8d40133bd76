/** Who owns a repository and what it is called; both parts fit the name rules. */
export interface RepositoryName {
  readonly owner: string
  readonly name: string
  /** `owner/repo`, as in addresses, keys and events. */
  readonly full: string
}

/** 1-100 of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`: safe in a path, a key and a log line. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/

/**
 * The name in place of a user's where the program that the service lives in reports on its own account. No user has
 * it: else such a user's reports would count as the program's.
 */
export const HOST_USER = 'host'

/** Whether `text` may name an owner ("Limits" in http/api/api.md). */
export function isOwnerName(text: string): boolean {
  return NAME.test(text)
}

/** Whether `text` may name a user. */
export function isUserName(text: string): boolean {
  return text !== HOST_USER && NAME.test(text)
}

/**
 * Puts a repository's name together from its two parts.
 * @returns `undefined` when a part breaks the name rules; such a repository simply does not exist.
 */
export function repositoryName(owner: string, name: string): RepositoryName | undefined {
  if (!NAME.test(owner) || !NAME.test(name) || /\.(?:git|lock)$/.test(name)) return undefined
  return { owner, name, full: `${owner}/${name}` }
}

/** Parses `owner/repo`; `undefined` when it is not a text of that form or breaks the name rules. */
export function parseRepositoryName(full: unknown): RepositoryName | undefined {
  if (typeof full !== 'string') return undefined
  const [owner = '', name = '', ...rest] = full.split('/')
  return rest.length === 0 ? repositoryName(owner, name) : undefined
}
