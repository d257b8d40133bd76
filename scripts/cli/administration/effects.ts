import { setTimeout as passed } from 'node:timers/promises'
import type { Administration } from '../../../lib/admin/administration.js'
import { note, type Io } from '../terminal/io.js'

/** How long a command looks for what it could note: nothing is noted then. */
const LOOK_MILLISECONDS = 2_000

/** How long it may take to put everything away after that. */
const END_MILLISECONDS = 1_000

/**
 * Notes what may not have been meant, as the last of a command, when everything is done and printed: a disk that hangs
 * below the folder of repositories holds up nobody.
 */
export async function noteEffects(io: Io, find: () => Promise<readonly string[]>): Promise<void> {
  const words = await Promise.race([find(), passed(LOOK_MILLISECONDS, undefined, { ref: false })])
  for (const each of words ?? []) note(io, each)
  // Who still waits for an answer would keep the process from its end.
  if (!words) setTimeout(() => io.exit(), END_MILLISECONDS).unref()
}

/** What may not have been meant with a grant. @param topOwner owns the repositories at the top of the folder */
export async function grantEffects(administration: Administration, on: string, topOwner: string): Promise<string[]> {
  const words: string[] = []
  if ((await administration.accessSource()) === 'command')
    words.push('it has no effect: the program of the setting rights.command tells who may do what')
  if ((await isThere(administration, on)) !== false) return words
  if (on.includes('/')) return [...words, `there is no repository ${on} yet`]
  const top = `${topOwner}/${on}`
  const hint = (await isThere(administration, top)) === true ? `; the one at the top of the folder is ${top}` : ''
  return [...words, `there is no repository of ${on} yet${hint}`]
}

/** What may not have been meant with a token. @param repositories what it is limited to */
export async function tokenEffects(
  administration: Administration,
  user: string,
  repositories: readonly string[],
): Promise<string[]> {
  const words: string[] = []
  if (!(await hasRight(administration, user)))
    words.push(`${user} has no right on a repository yet: commit-status access grant gives one`)
  for (const repository of repositories)
    if ((await isThere(administration, repository)) === false) words.push(`there is no repository ${repository} yet`)
  return words
}

/** What may not have been meant with a webhook. @param on as it was given */
export async function hookEffects(administration: Administration, on: string): Promise<string[]> {
  const owner = on.replace(/\/?\*$/, '')
  if (owner === '' || (await isThere(administration, owner)) !== false) return []
  return [`there is no repository ${owner === on ? on : `of ${owner}`} yet`]
}

/** Whether there is a repository, or one of an owner; `undefined` where that cannot be determined. */
async function isThere(administration: Administration, on: string): Promise<boolean | undefined> {
  const listed = await administration.listRepositories(on).catch(() => undefined)
  if (!listed || listed.problems.length > 0) return undefined
  // A service of an older version lists all.
  return listed.repositories.some(({ repository }) => repository === on || repository.startsWith(`${on}/`))
}

/** Whether a user has a right on anything that is there, beside reading what is public; also where that is not ours. */
async function hasRight(administration: Administration, user: string): Promise<boolean> {
  if ((await administration.accessSource()) !== 'grants') return true
  if ((await isThere(administration, user)) !== false) return true
  return (await administration.listAccess(null)).some((grant) => grant.user === user)
}
