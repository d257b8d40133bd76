import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beside, type Kind } from './beside.js'
import { CHECKS, makeRepositoryOf } from './data.js'
import { hostingOf, type Hosting, type Objects } from './hosting.js'
import { Load, type LoadRequest } from './load.js'
import { list, report, tokenOf } from './place.js'
import { command } from './processes.js'
import { Services } from './services.js'
import type { Case, Row, Setting } from './setting.js'

/** More commits than are remembered with so much memory, so that each is a new one when its turn comes again. */
const COMMITS = 20_000
const FORGETFUL = { COMMIT_STATUS_CACHE_MEGABYTES: '8' }

/** More than are held open, many times over. */
const REPOSITORIES = 5_000

const WARM_SECONDS = 3

/** Lists that are asked for again and again, each of a commit or a repository of its own. */
const HOT = 64

/** Pushes that are under way at the same time: one for each connection. */
const AT_ONCE = 64

/** More than any machine answers. */
const REQUESTS_A_SECOND = 20_000

/** Commits that nobody has asked for yet, and repositories that are not open, beside lists that are known. */
export const firstLooks: Case = {
  name: 'first looks',
  async run(setting) {
    const { folder } = setting
    const repository = await makeRepositoryOf(join(folder, 'repositories-first'), 'alice/hello', COMMITS)
    const hot = repository.commits.slice(0, HOT).map((sha) => list(sha))
    const rows = await firstTime(setting, join(folder, 'repositories-first'), hot, {
      name: 'list of a new commit, repository open, against a hot list',
      requests: repository.commits.map((sha) => list(sha)),
      most: 2.5,
    })
    for (const [objects, words] of [
      ['loose', 'one loose commit'],
      ['packed', 'one pack'],
    ] as const satisfies readonly (readonly [Objects, string])[]) {
      const hosting = await hostingOf(setting, REPOSITORIES, 0, objects)
      const looks = {
        name: `first look at a repository, public, ${words}, against a hot list`,
        requests: looksAt(hosting),
        most: 7,
      }
      rows.push(...(await firstTime(setting, hosting.repositories, hotOf(hosting), looks)))
    }
    return rows
  },
}

async function firstTime(
  setting: Setting,
  repositories: string,
  hot: readonly LoadRequest[],
  { name, requests, most }: Omit<Kind, 'load'> & { readonly requests: readonly LoadRequest[] },
): Promise<Row[]> {
  const store = join(setting.folder, 'store-first')
  rmSync(store, { recursive: true, force: true })
  const services = await Services.start(setting, { repositories, store }, FORGETFUL)
  try {
    const load = new Load(join(setting.folder, 'requests-first'), requests, {}, 'in turn')
    const known = new Load(join(setting.folder, 'requests-hot'), hot)
    return await beside(setting, services, known, [{ name, load, most }], WARM_SECONDS)
  } finally {
    await services.end()
  }
}

function hotOf({ names, commits: [sha = ''] }: Hosting): LoadRequest[] {
  return names.slice(0, HOT).map((name) => list(sha, name))
}

/** Of one commit after the other, each repository in turn. */
function looksAt({ names, commits }: Hosting): LoadRequest[] {
  return commits.flatMap((sha) => names.map((name) => list(sha, name)))
}

/** What a CI server does all day: a commit that is new, ten checks that begin and succeed, and a look after each. */
export const pushesCase: Case = {
  name: 'pushes',
  async run(setting) {
    const hosting = await hostingOf(setting, 1000, 0)
    const place = { repositories: hosting.repositories, store: join(setting.folder, 'store-pushes') }
    rmSync(place.store, { recursive: true, force: true })
    const headers = { Authorization: `Bearer ${await tokenOf(place, 'alice')}` }
    for (const owner of new Set(hosting.names.map((full) => full.replace(/\/.*/, ''))))
      await command(place, 'access', 'grant', owner, 'alice', 'write')
    const services = await Services.start(setting, place)
    try {
      const count = (WARM_SECONDS + setting.rounds * setting.seconds) * REQUESTS_A_SECOND
      const file = join(setting.folder, 'requests-pushes')
      const hot = new Load(`${file}.hot`, hotOf(hosting), headers)
      const pushes = new Load(file, requestsOf(hosting, count), headers, 'once')
      const kind = { name: 'request of a push, against a hot list', load: pushes, most: 3 }
      const [row] = await beside(setting, services, hot, [kind], WARM_SECONDS)
      if (!row) return []
      const { p50 = NaN, p99 = NaN } = row
      const ratio = p99 / p50
      const late = { ...row, name: 'p99 of pushes against their p50', ratio, goal: '≤ 4 times', reached: ratio <= 4 }
      return [row, late]
    } finally {
      await services.end()
    }
  },
}

/** At least so many requests: so many pushes at once, the requests of each one after the other. */
function requestsOf({ names, commits }: Hosting, count: number): LoadRequest[] {
  const pushes = commits.slice(1).flatMap((sha) => names.map((name) => ({ sha, name })))
  const requests: LoadRequest[] = []
  for (let first = 0; requests.length < count; first += AT_ONCE) {
    const together = pushes.slice(first, first + AT_ONCE)
    if (together.length === 0) throw new RangeError('there are too few commits for so many rounds')
    for (const state of ['pending', 'success'] as const)
      for (const check of CHECKS.keys())
        for (const ask of [true, false])
          requests.push(
            ...together.map(({ sha, name }) => (ask ? report(sha, check, name, { state }) : list(sha, name))),
          )
  }
  return requests
}
