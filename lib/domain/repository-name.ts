/** Who owns a repository and what it is called; each part fits the name rules. */
export interface RepositoryName {
  readonly owner: string
  /** In deeper folders with theirs: `sub/deep`. */
  readonly name: string
  /** `owner/repo`, as people write it and events have it: `team/sub/deep`. */
  readonly full: string
  /** The same in two parts, for keys and addresses: slashes of the name are `%2F`, which no other name holds. */
  readonly escaped: string
}

/** 1-100 of `A-Z a-z 0-9 . _ - + @ ~ , =`, not starting with `.` or `-`: safe in a path, a key and a log line. */
const NAME = /^[\w+@~,=][\w.+@~,=-]{0,99}$/

/** Folders from that of all repositories to one, itself included. */
export const MAX_DEPTH = 8

/**
 * The name in place of a user's where the program that the service lives in reports on its own account. No user has
 * it: else such a user's reports would count as the program's.
 */
export const HOST_USER = 'host'

/** Whether `text` may name an owner ("Limits" in http/api/api.md). What ends in `.git` is a repository. */
export function isOwnerName(text: string): boolean {
  return isFolderName(text)
}

/** Whether `text` may name a user. */
export function isUserName(text: string): boolean {
  return text !== HOST_USER && NAME.test(text)
}

/**
 * Puts a repository's name together from its two parts.
 * @param name in deeper folders with slashes
 * @returns `undefined` when a part breaks the name rules; such a repository simply does not exist.
 */
export function repositoryName(owner: string, name: string, isPart = isFolderName): RepositoryName | undefined {
  if (!isPart(owner)) return undefined
  if (!name.includes('/')) {
    if (!isPart(name)) return undefined
    const full = `${owner}/${name}`
    return { owner, name, full, escaped: full }
  }
  const parts = name.split('/')
  if (parts.length >= MAX_DEPTH || !parts.every(isPart)) return undefined
  return { owner, name, full: `${owner}/${name}`, escaped: `${owner}/${parts.join('%2F')}` }
}

/** Parses `owner/repo`; `undefined` when it is not a text of that form or breaks the name rules. */
export function parseRepositoryName(full: unknown, isPart = isFolderName): RepositoryName | undefined {
  if (typeof full !== 'string') return undefined
  const slash = full.indexOf('/')
  return slash === -1 ? undefined : repositoryName(full.slice(0, slash), full.slice(slash + 1), isPart)
}

/**
 * Parses `owner/repo` of what a store holds: also of a time when a part could end in `.git` or `.lock`. Nobody can ask
 * for such a repository; what is stored of it is no damage, and may be moved or removed.
 */
export function parseStoredName(full: unknown): RepositoryName | undefined {
  return parseRepositoryName(full, isStoredName)
}

/** The same for an owner, or any part. */
export function isStoredName(text: string): boolean {
  return NAME.test(text)
}

/**
 * Names what stands at a path below the folder of all repositories.
 * @param path without the `.git` at its end
 * @param topOwner owns what stands at the top
 */
export function nameAtPath(path: string, topOwner: string): RepositoryName | undefined {
  return path.includes('/') ? parseRepositoryName(path) : repositoryName(topOwner, path)
}

/** Parses what `escaped` is, of what a store holds. */
export function parseEscapedName(escaped: string): RepositoryName | undefined {
  const parsed = parseStoredName(escaped.includes('%') ? escaped.replaceAll('%2F', '/') : escaped)
  return parsed?.escaped === escaped ? parsed : undefined
}

/** What git itself makes in a folder ends in the same way. */
function isFolderName(part: string): boolean {
  return isStoredName(part) && !/\.(?:git|lock)$/.test(part)
}
