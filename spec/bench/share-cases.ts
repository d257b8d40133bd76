import { limited, type Question } from './limited.js'
import type { LoadRequest } from './load.js'
import { firstOf, list, mixed, placeWithToken, report, SMALL, SPREAD } from './place.js'
import type { MadeRepository } from './data.js'
import { Services } from './services.js'
import type { Case } from './setting.js'

interface Kind extends Omit<Question, 'name' | 'requests' | 'token'> {
  readonly commits: number
  readonly isPublic?: boolean
  readonly withToken?: boolean
  /** Settings of the service. */
  readonly settings?: Readonly<Record<string, string>>
  requests(repository: MadeRepository): LoadRequest[]
}

/** A case of one repository beside its limits. */
function share(
  name: string,
  { commits, isPublic = true, withToken = !isPublic, requests, settings, ...kind }: Kind,
): Case {
  return {
    name,
    async run(setting) {
      const place = await placeWithToken(setting, commits, { isPublic })
      const services = await Services.start(setting, place, settings)
      try {
        const token = withToken ? place.token : undefined
        const question = { name, requests: requests(place.repository), token, ...kind }
        return [await limited(setting, place, services, question)]
      } finally {
        await services.end()
      }
    },
  }
}

/** So many commits are remembered with 28 megabytes, and a fifth of their lists. */
const MANY = 20_000
const forgetful = { COMMIT_STATUS_CACHE_MEGABYTES: '28' }

export const shareCases: readonly Case[] = [
  share('list, one public commit', {
    commits: SMALL,
    least: 0.97,
    requests: (repository) => [list(firstOf(repository))],
  }),
  share('list, one private commit, token', {
    commits: SMALL,
    isPublic: false,
    least: 0.88,
    requests: (repository) => [list(firstOf(repository))],
  }),
  share('page of a public commit', {
    commits: SMALL,
    requests: (repository) => [{ method: 'GET', path: `/repos/alice/hello/commits/${firstOf(repository)}` }],
  }),
  share('list that has not changed (304)', {
    commits: SMALL,
    conditional: true,
    requests: (repository) => [list(firstOf(repository))],
  }),
  share('list over 20,000 commits, most not in memory', {
    commits: MANY,
    least: 0.85,
    scans: true,
    // Until each commit has been confirmed in git, which composite does not do.
    warmSeconds: 20,
    settings: forgetful,
    requests: ({ commits }) => commits.map((sha) => list(sha)),
  }),
  share('list over 20,000 commits, with 256 MB of memory', {
    commits: MANY,
    least: 0.88,
    warmSeconds: 15,
    settings: { COMMIT_STATUS_CACHE_MEGABYTES: '256' },
    requests: ({ commits }) => commits.map((sha) => list(sha)),
  }),
  share('report over 20,000 commits', {
    commits: MANY,
    least: 0.75,
    withToken: true,
    warmSeconds: 15,
    requests: ({ commits }) => commits.map((sha, index) => report(sha, index)),
  }),
  share('report over 100,000 commits', {
    commits: SPREAD,
    withToken: true,
    warmSeconds: 15,
    requests: ({ commits }) => commits.map((sha, index) => report(sha, index)),
  }),
  share('report, one commit, 10 contexts', {
    commits: SMALL,
    least: 0.7,
    withToken: true,
    requests: (repository) => Array.from({ length: 10 }, (_, index) => report(firstOf(repository), index)),
  }),
  share('90 % list, 10 % report', { commits: SMALL, withToken: true, requests: mixed }),
]
