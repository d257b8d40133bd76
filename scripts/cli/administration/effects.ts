import type { Administration } from '../../../lib/admin/administration.js'

/** Whether there is a repository, or one of an owner; also where that cannot be told. */
export async function isThere(administration: Administration, on: string): Promise<boolean> {
  const listed = await administration.listRepositories().catch(() => undefined)
  if (!listed || listed.problems.length > 0) return true
  return listed.repositories.some(({ repository }) => repository === on || repository.startsWith(`${on}/`))
}

/** Whether a user has a right on anything that is there, beside reading what is public. */
export async function hasRight(administration: Administration, user: string): Promise<boolean> {
  const grants = await administration.listAccess(null)
  return grants.some((grant) => grant.user === user) || (await isThere(administration, user))
}
