import { parseRepositoryName, type RepositoryName } from '../domain/repository-name.js'

/** What pages of a repository are called. A folder of the same name is told from them by an escaped slash. */
const PAGES = String.raw`(?:commits|branches|webhooks|badge\.svg)(?:/|$)`

const REPOSITORY = `^/repos/(?<owner>[^/]+)/(?<repo>[^/]+(?:/(?!${PAGES})[^/]+)*)`

const beginning = new RegExp(REPOSITORY)
const nameLikePage = new RegExp(`^[^/]+/[^/]+/(?:.*/)?${PAGES}`)

/**
 * The paths of pages of repositories, below the base of all pages.
 * @param rest the source of a pattern: what stands behind the repository
 */
export function repositoryPattern(rest = ''): RegExp {
  return new RegExp(`${REPOSITORY}${rest}$`)
}

/** The path of a repository's first page, as people write its name where they can. */
export function repositoryPath({ full, escaped }: RepositoryName): string {
  return `/repos/${nameLikePage.test(full) ? escaped : full}`
}

/** The repository that a path names. */
export function repositoryIn(path: string): RepositoryName | undefined {
  const { owner = '', repo = '' } = beginning.exec(path)?.groups ?? {}
  return parseRepositoryName(`${owner}/${decodeURIComponent(repo)}`)
}
