import { join } from 'node:path'
import { FarDatabase } from '../fixtures/far-database.js'
import { PostgresServer } from '../fixtures/postgres.js'
import { makeRepositoryOf } from './data.js'
import { Load } from './load.js'
import { command, ServerProcess } from './processes.js'
import { ended, type Case, type Ending, type Row, type Setting } from './setting.js'

const COMMITS = 100

/** There and back. */
const MILLISECONDS = 20

const WARM_SECONDS = 2

/** How long a request takes whose database is some way off: so many ways there and back. */
export const farDatabaseCase: Case = {
  name: `PostgreSQL ${MILLISECONDS} ms away`,
  async run(setting) {
    return await ended(async (ending) => await measure(setting, ending))
  },
}

async function measure(setting: Setting, ending: Ending): Promise<Row[]> {
  const server = await PostgresServer.start(ending)
  const near = await server.database()
  const repositories = join(setting.folder, `repositories-${COMMITS}`)
  const { commits } = await makeRepositoryOf(repositories, 'alice/hello', COMMITS)
  await command({ repositories, store: near }, 'repo', 'public', 'alice/hello')
  const token = (await command({ repositories, store: near }, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
  const { url: store } = await FarDatabase.of(ending, server, near, MILLISECONDS)
  const service = await ServerProcess.service({ repositories, store })
  ending.teardown(async () => await service.end())
  const authorization = { Authorization: `Bearer ${token}` }
  const lists = commits.map((sha) => ({
    method: 'GET' as const,
    path: `/api/v1/repos/alice/hello/commits/${sha}/statuses`,
  }))
  const reports = commits.map((sha) => ({
    method: 'POST' as const,
    path: `/api/v1/repos/alice/hello/statuses/${sha}`,
    body: '{"state":"success"}',
  }))
  const rows: Row[] = []
  for (const { name, requests, headers, ways } of [
    { name: 'list', requests: lists, headers: {}, ways: 1 },
    { name: 'list, token', requests: lists, headers: authorization, ways: 2 },
    { name: 'report', requests: reports, headers: authorization, ways: 2 },
  ]) {
    const load = new Load(join(setting.folder, 'requests'), requests, headers)
    for (const connections of [1, 64]) {
      await load.run(service.url, { seconds: WARM_SECONDS, connections })
      const { perSecond, failed, ...times } = await load.run(service.url, { seconds: setting.seconds, connections })
      if (failed > 0) throw new Error(`${failed} requests failed`)
      // As long as nobody has to wait for anybody else.
      const most = connections === 1 ? (ways + 0.5) * MILLISECONDS : undefined
      rows.push({
        name: `${farDatabaseCase.name}: ${name}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
        ours: perSecond,
        ...{ p50: times.p50, p99: times.p99, p999: times.p999 },
        goal: most === undefined ? '' : `p50 ≤ ${most} ms`,
        reached: most === undefined || times.p50 <= most,
      })
      setting.tell(`  ${rows.at(-1)?.name ?? ''}: ${times.p50} ms`)
    }
  }
  return rows
}
