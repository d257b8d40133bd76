import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../../lib/domain/commit-status.js'
import { fillStore, makeRepositoryOf, realisticReport, type MadeRepository, type Place } from './data.js'
import type { LoadRequest } from './load.js'
import { command, ServerProcess } from './processes.js'
import type { Setting } from './setting.js'

/** Commits of the repositories that most cases work on. */
export const SPREAD = 100_000
export const SMALL = 1_000

/** The service on a place, with a token of the owner. */
export interface Running extends Place {
  readonly repository: MadeRepository
  readonly server: ServerProcess
  readonly token: string
}

/** A place with a repository of so many commits, ten statuses each. */
export async function placeOf(
  { folder, tell }: Setting,
  commits: number,
  { isPublic = true } = {},
): Promise<Place & { repository: MadeRepository }> {
  const place = { repositories: join(folder, `repositories-${commits}`), store: join(folder, `store-${commits}`) }
  tell(`making ${commits} commits`)
  const repository = await makeRepositoryOf(place.repositories, 'alice/hello', commits)
  await fillStore(place.store, repository, (done) => {
    if (done % 100_000 === 0) tell(`making ${commits * 10} statuses: ${done}`)
  })
  const mark = join(place.repositories, 'alice/hello.git/git-daemon-export-ok')
  rmSync(mark, { force: true })
  if (isPublic) await command(place, 'repo', 'public', 'alice/hello')
  return { ...place, repository }
}

/** The same, with a token of the owner. */
export async function placeWithToken(
  setting: Setting,
  commits: number,
  options?: { isPublic: boolean },
): Promise<Omit<Running, 'server'>> {
  const place = await placeOf(setting, commits, options)
  return { ...place, token: await tokenOf(place, 'alice') }
}

export async function running(setting: Setting, commits: number): Promise<Running> {
  const place = await placeWithToken(setting, commits)
  return { ...place, server: await ServerProcess.service(place) }
}

/** A new token of a user. */
export async function tokenOf(place: Place, user: string): Promise<string> {
  return (await command(place, 'token', 'create', user)).split('\n').at(-1) ?? ''
}

export function list(sha: string, name = 'alice/hello'): LoadRequest {
  return { method: 'GET', path: `/api/v1/repos/${name}/commits/${sha}/statuses` }
}

export function report(
  sha: string,
  index: number,
  name = 'alice/hello',
  more: Partial<Pick<Report, 'state'>> = {},
): LoadRequest {
  return {
    method: 'POST',
    path: `/api/v1/repos/${name}/statuses/${sha}`,
    body: JSON.stringify({ ...realisticReport(index), ...more }),
  }
}

/** So many of them, at equal distances. */
export function spread(commits: readonly string[], count: number): string[] {
  return commits.filter((_, index) => index % Math.ceil(commits.length / count) === 0)
}

/** Nine lists for each report. */
export function mixed({ commits }: MadeRepository): LoadRequest[] {
  return commits
    .slice(0, 100)
    .flatMap((sha, index) => [...Array.from({ length: 9 }, () => list(sha)), report(sha, index)])
}

export const firstOf = ({ commits }: MadeRepository): string => commits[0] ?? ''
