import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beside } from './beside.js'
import { fillStore, makeRepositoryOf, realisticReport } from './data.js'
import { Load, type LoadRequest } from './load.js'
import { tokenOf } from './place.js'
import { Services } from './services.js'
import type { Case, Row } from './setting.js'

const COMMITS = 1_000
const MOST_TIMES = 1.3

interface Api {
  readonly name: string
  readonly listPath: (sha: string) => string
  readonly reportPath: (sha: string) => string
}

/** Ours first: the others are measured beside it. */
const apis: readonly Api[] = [
  { name: 'strict', ...paths('/api/v1/repos/alice/hello', 'commits') },
  { name: 'github', ...paths('/api/v3/repos/alice/hello', 'commits') },
  { name: 'gitea', ...paths('/gitea/api/v1/repos/alice/hello', 'commits') },
  { name: 'gitlab', ...paths('/api/v4/projects/alice%2Fhello', 'repository/commits') },
]

/** What a list and a report cost through each compatible API, beside the strict one, on one service. */
export const compatibleCase: Case = {
  name: 'compatible APIs',
  async run(setting) {
    const { folder } = setting
    const place = { repositories: join(folder, 'repositories-compatible'), store: join(folder, 'store-compatible') }
    for (const path of Object.values(place)) rmSync(path, { recursive: true, force: true })
    const { commits, ...repository } = await makeRepositoryOf(place.repositories, 'alice/hello', COMMITS)
    await fillStore(place.store, { commits, ...repository }, () => undefined)
    const authorization = { Authorization: `Bearer ${await tokenOf(place, 'alice')}` }
    const services = await Services.start(setting, place)
    const rows: Row[] = []
    try {
      for (const kind of ['list', 'report'] as const) {
        const [strict, ...others] = apis.map((api) => {
          const requests = commits.slice(0, 100).map((sha, index) => requestOf(kind, api, sha, index))
          const load = new Load(join(folder, `requests-${api.name}-${kind}`), requests, authorization)
          return { name: `${kind} through ${api.name} against the strict API`, load, most: MOST_TIMES }
        })
        if (strict) rows.push(...(await beside(setting, services, strict.load, others)))
      }
      return rows
    } finally {
      await services.end()
    }
  },
}

function requestOf(kind: 'list' | 'report', api: Api, sha: string, index: number): LoadRequest {
  if (kind === 'list') return { method: 'GET', path: api.listPath(sha) }
  const { context, description, target_url } = realisticReport(index)
  const body = JSON.stringify({ context, state: 'success', description, target_url })
  return { method: 'POST', path: api.reportPath(sha), body }
}

function paths(base: string, commits: string): Pick<Api, 'listPath' | 'reportPath'> {
  return {
    listPath: (sha) => `${base}/${commits}/${sha}/statuses`,
    reportPath: (sha) => `${base}/statuses/${sha}`,
  }
}
