import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fillStore, makeRepositoryOf, realisticReport } from './data.js'
import { Load, type LoadRequest } from './load.js'
import { command, ServerProcess } from './processes.js'
import { median, type Case, type Row } from './setting.js'

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

/**
 * What a list and a report cost through each compatible API, beside the strict one, on one service: requests for each
 * second of its processor time.
 */
export const compatibleCase: Case = {
  name: 'compatible APIs',
  async run(setting) {
    const { folder, rounds, seconds, tell } = setting
    const place = { repositories: join(folder, 'repositories-compatible'), store: join(folder, 'store-compatible') }
    for (const path of Object.values(place)) rmSync(path, { recursive: true, force: true })
    const { commits, ...repository } = await makeRepositoryOf(place.repositories, 'alice/hello', COMMITS)
    await fillStore(place.store, { commits, ...repository }, () => undefined)
    const token = (await command(place, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
    const server = await ServerProcess.service(place)
    const rows: Row[] = []
    try {
      for (const kind of ['list', 'report'] as const) {
        const loads = apis.map((api) => {
          const requests = commits.slice(0, 100).map((sha, index) => requestOf(kind, api, sha, index))
          return new Load(join(folder, `requests-${api.name}-${kind}`), requests, { Authorization: `Bearer ${token}` })
        })
        for (const load of loads) await load.run(server.url, { seconds: 2 })
        const measured: number[][] = []
        for (let round = 0; round < rounds; round++) {
          const results: number[] = []
          for (const load of loads) {
            const before = server.processorSeconds
            const { failed, requests } = await load.run(server.url, { seconds })
            if (failed > 0) throw new Error(`${failed} requests failed`)
            results.push(requests / (server.processorSeconds - before))
          }
          measured.push(results)
          tell(`  round ${round + 1}: ${results.map(Math.round).join(', ')}`)
        }
        for (const [index, { name }] of apis.entries()) {
          if (index === 0) continue
          const times = median(measured.map((results) => (results[0] ?? NaN) / (results[index] ?? NaN)))
          rows.push({
            name: `${kind} through ${name} against the strict API`,
            ours: median(measured.map((results) => results[index] ?? NaN)),
            limit: median(measured.map((results) => results[0] ?? NaN)),
            ratio: times,
            memory: server.memory,
            goal: `≤ ${MOST_TIMES} times the time`,
            reached: times <= MOST_TIMES,
          })
        }
      }
      return rows
    } finally {
      await server.end()
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
