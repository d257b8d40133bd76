import type { Administration } from '../../../lib/admin/administration.js'

/** Whether there is a repository, or one of an owner; also where that cannot be determined. */
export async function isThere(administration: Administration, on: string): Promise<boolean> {
  const listed = await administration.listRepositories(on).catch(() => undefined)
  if (!listed || listed.problems.length > 0) return true
  // A service of an older version lists all.
  return listed.repositories.some(({ repository }) => repository === on || repository.startsWith(`${on}/`))
}

/** Whether a user has a right on anything that is there, beside reading what is public; also where that is not ours. */
export async function hasRight(administration: Administration, user: string): Promise<boolean> {
  if ((await administration.accessSource()) !== 'grants') return true
  if (await isThere(administration, user)) return true
  return (await administration.listAccess(null)).some((grant) => grant.user === user)
}
