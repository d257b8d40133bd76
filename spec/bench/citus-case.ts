import { join } from 'node:path'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { PostgresServer } from '../fixtures/postgres.js'
import { makeRepositoryOf, realisticReport } from './data.js'
import { Load, type LoadResult } from './load.js'
import { command, ServerProcess } from './processes.js'
import { ended, median, type Case, type Ending, type Row, type Setting } from './setting.js'

const REPOSITORIES = 32
const COMMITS = 100
const CONTEXTS = 10
const WARM_SECONDS = 4

const SETTINGS = { fsync: 'on', full_page_writes: 'on', autovacuum: 'on', shared_buffers: '256MB' }

/** Reports and lists of many repositories on a coordinator and two workers, beside one PostgreSQL on the same cores. */
export const citusCase: Case = {
  name: 'Citus',
  async run(setting) {
    if (isCitusMissing !== false) {
      setting.tell(`  ${isCitusMissing}`)
      return []
    }
    return await ended(async (ending) => await measure(setting, ending))
  },
}

/** The services on a store. */
interface Side {
  readonly services: readonly ServerProcess[]
  readonly token: string
}

async function measure(setting: Setting, ending: Ending): Promise<Row[]> {
  const repositories = join(setting.folder, `repositories-${REPOSITORIES}-${COMMITS}`)
  const made = await Promise.all(
    Array.from(
      { length: REPOSITORIES },
      async (_, number) => await makeRepositoryOf(repositories, `alice/repo-${number}`, COMMITS),
    ),
  )
  const side = async (store: string): Promise<Side> => {
    const token = (await command({ repositories, store }, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
    const service = async (): Promise<ServerProcess> => await ServerProcess.service({ repositories, store })
    const services = await Promise.all([service(), service()])
    ending.teardown(async () => await Promise.all(services.map(async (service) => await service.end())))
    return { services, token }
  }
  const plain = await side(await (await PostgresServer.start(ending, SETTINGS)).database())
  const spread = await side(await (await CitusCluster.start(ending, SETTINGS)).database())
  const commits = made.flatMap(({ name, commits }) => commits.map((sha) => ({ name, sha })))
  const kinds = [
    {
      name: 'reports',
      requests: commits.map(({ name, sha }, index) => ({
        method: 'POST' as const,
        path: `/api/v1/repos/${name}/statuses/${sha}`,
        body: JSON.stringify({ ...realisticReport(index), context: `ci/check-${index % CONTEXTS}` }),
      })),
      least: 0.4,
    },
    {
      name: 'lists',
      requests: commits.map(({ name, sha }) => ({
        method: 'GET' as const,
        path: `/api/v1/repos/${name}/commits/${sha}/statuses`,
      })),
      least: 0.5,
    },
  ]
  const rows: Row[] = []
  for (const { name, requests, least } of kinds) {
    const load = async ({ services, token }: Side, instances: number, seconds: number): Promise<Sum> => {
      const headers = name === 'reports' ? { Authorization: `Bearer ${token}` } : {}
      const sent = new Load(join(setting.folder, 'requests'), requests, headers)
      const some = services.slice(0, instances)
      return sum(await Promise.all(some.map(async ({ url }) => await sent.run(url, { seconds, connections: 64 }))))
    }
    for (const instances of [1, 2]) {
      for (const each of [plain, spread]) await load(each, instances, WARM_SECONDS)
      const rounds: { ours: Sum; limit: Sum }[] = []
      for (let round = 0; round < setting.rounds; round++) {
        // Every other round goes the other way round.
        const first = await load(round % 2 ? plain : spread, instances, setting.seconds)
        const second = await load(round % 2 ? spread : plain, instances, setting.seconds)
        rounds.push(round % 2 ? { ours: second, limit: first } : { ours: first, limit: second })
      }
      const ratio = median(rounds.map(({ ours, limit }) => ours.perSecond / limit.perSecond))
      rows.push({
        name: `Citus: ${name}, ${instances} × 64 connections, beside one PostgreSQL`,
        ours: median(rounds.map(({ ours }) => ours.perSecond)),
        limit: median(rounds.map(({ limit }) => limit.perSecond)),
        ratio,
        p50: median(rounds.map(({ ours }) => ours.p50)),
        p99: median(rounds.map(({ ours }) => ours.p99)),
        goal: `≥ ${least}`,
        reached: ratio >= least,
      })
      setting.tell(`  ${rows.at(-1)?.name ?? ''}: ${ratio.toFixed(2)}`)
    }
  }
  return rows
}

type Sum = Pick<LoadResult, 'perSecond' | 'p50' | 'p99'>

/** Of several services at once. */
function sum(results: readonly LoadResult[]): Sum {
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  if (failed > 0) throw new Error(`${failed} requests failed`)
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50: median(results.map(({ p50 }) => p50)),
    p99: median(results.map(({ p99 }) => p99)),
  }
}
