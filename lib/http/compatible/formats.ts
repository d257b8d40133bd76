import type { RepositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { repositoryPath } from '../page-paths.js'

/** Times to the second: some clients fail on more. */
export function toSecond(time: string): string {
  return `${time.slice(0, 19)}Z`
}

/** The end of the year 9999: later ones are written in another way. */
const LATEST_SECONDS = 253_402_300_799

/** Seconds since 1970 UTC as a time to the second; what is no time is the first one. */
export function timeOf(seconds: number): string {
  return toSecond(new Date(seconds >= 0 && seconds <= LATEST_SECONDS ? seconds * 1000 : 0).toISOString())
}

/** A name as a part of a path; that of a user of the host may be any text. */
export function segment(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}

/** A ref as a part of a path: its slashes stay. */
export function refPath(ref: string): string {
  return encodeURIComponent(ref).replaceAll('%2F', '/')
}

/** The name or address of the host in a URL, without the port. */
export function hostOf(url: string): string {
  return url.replace(/^\w+:\/\/(\[[^\]]*\]|[^/:]*).*$/s, '$1')
}

/** Where a repository is cloned from with SSH, and over HTTP. Whether something answers there is the git server's. */
export function cloneUrls(root: string, { name, repository }: VisibleRepository) {
  const { path = `${name.full}.git` } = repository
  return { ssh: `ssh://git@${hostOf(root)}/${path}`, http: `${root}/${path}` }
}

/** The page of a commit. */
export function commitPageUrl(pages: string, name: RepositoryName, sha: string): string {
  return `${pages}${repositoryPath(name)}/commits/${sha}`
}

/** The time of what nobody knows the time of: people, above all. */
export const UNKNOWN_TIME = timeOf(0)
