import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { SAVE } from '../../lib/store/postgres/save-reports.js'
import { COLUMNS } from '../../lib/store/postgres/status-columns.js'
import { binary, PostgresServer, sql } from '../fixtures/postgres.js'
import { ended, type Case, type Ending, type Row, type Setting } from './setting.js'
import { makeRepositoryOf, realisticReport, type MadeRepository } from './data.js'
import { Load, type LoadRequest } from './load.js'
import { command, ServerProcess } from './processes.js'

const COMMITS = 10_000
const CONTEXTS = 10

/** Until a service that was just started is as fast as it gets, and most commits have been looked up in git. */
const WARM_SECONDS = 8

/** When PostgreSQL has counted what connections did that have ended. */
const COUNTED_MILLISECONDS = 500

/** Reports and lists on PostgreSQL, with fsync, through 1, 2 and 4 instances, beside `pgbench`. */
export const postgresCase: Case = {
  name: 'PostgreSQL',
  async run(setting) {
    return await ended(async (ending) => await measure(setting, ending))
  },
}

async function measure(setting: Setting, ending: Ending): Promise<Row[]> {
  const server = await PostgresServer.start(ending, {
    fsync: 'on',
    full_page_writes: 'on',
    autovacuum: 'on',
    shared_buffers: '512MB',
  })
  const store = await server.database()
  const repositories = join(setting.folder, `repositories-${COMMITS}`)
  const repository = await makeRepositoryOf(repositories, 'alice/hello', COMMITS)
  await fill(store, repository)
  const place = { repositories, store }
  await command(place, 'repo', 'public', 'alice/hello')
  const token = (await command(place, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
  const kinds = [
    {
      name: 'reports',
      requests: repository.commits.map(report),
      headers: { Authorization: `Bearer ${token}` },
      statement: saveScript(),
      // What one instance must reach of what `pgbench` does with the same statements on the same server.
      least: 0.5,
    },
    { name: 'lists', requests: repository.commits.map(list), headers: {}, statement: listScript(), least: 0.3 },
  ]
  const rows: Row[] = []
  for (const { name, requests, headers, statement, least } of kinds) {
    const script = join(server.folder, `${name}.sql`)
    writeFileSync(script, statement)
    const limits = [
      await pgbench(server, store, script, 10, setting.seconds),
      await pgbench(server, store, script, 64, setting.seconds),
    ]
    const limit = Math.max(...limits)
    for (const instances of [1, 2, 4]) {
      for (const connections of instances === 1 ? [1, 8, 64, 256] : [64]) {
        const services = await Promise.all(
          Array.from({ length: instances }, async () => await ServerProcess.service(place)),
        )
        const load = new Load(join(setting.folder, 'requests'), requests, headers)
        await Promise.all(services.map(async ({ url }) => await load.run(url, { seconds: WARM_SECONDS, connections })))
        const before = await committed(store)
        const processorBefore = processorOf(services)
        const results = await Promise.all(
          services.map(async ({ url }) => await load.run(url, { seconds: setting.seconds, connections })),
        )
        const processor = processorOf(services) - processorBefore
        await Promise.all(services.map(async (service) => await service.end()))
        await setTimeout(COUNTED_MILLISECONDS)
        const transactions = (await committed(store)) - before
        const failed = results.reduce((sum, result) => sum + result.failed, 0)
        if (failed > 0) throw new Error(`${failed} requests failed`)
        const ours = results.reduce((sum, { perSecond }) => sum + perSecond, 0)
        const answered = results.reduce((sum, { requests }) => sum + requests, 0)
        const each = transactions / answered
        const isGoal = instances === 1 && connections === 64
        rows.push({
          name:
            `PostgreSQL: ${name}, ${instances} × ${connections} connections, ` +
            `${each.toFixed(2)} statements for each`,
          processor: { ours: (processor * 1e6) / answered },
          ours,
          limit,
          ratio: ours / limit,
          p50: results[0]?.p50,
          p99: results[0]?.p99,
          goal: isGoal ? `≥ ${least}` : '',
          reached: !isGoal || ours / limit >= least,
        })
        setting.tell(`  ${rows.at(-1)?.name ?? ''}: ${Math.round(ours)} of ${Math.round(limit)}`)
      }
    }
  }
  return rows
}

/** Seconds of processor time that they have used. */
function processorOf(services: readonly ServerProcess[]): number {
  return services.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0)
}

async function fill(store: string, { commits }: MadeRepository): Promise<void> {
  await sql(
    store,
    `INSERT INTO commit_status.statuses (repository, sha, context, id, state, description, target_url, created_at,
  updated_at)
    SELECT 'alice/hello/', decode(sha, 'hex'), convert_to('ci/check-' || number, 'UTF8'), substr(md5(sha || number), 1,
  12), 'pending', 'waiting', 'https://ci.example.com/jobs/' || number, 0, 0
    FROM unnest($1::text[]) AS sha, generate_series(0, ${CONTEXTS - 1}) AS number`,
    [commits],
  )
  await sql(
    store,
    `INSERT INTO commit_status.statuses (repository, sha, context, id, state, description, target_url, created_at,
  updated_at)
    SELECT 'alice/limit/', ${shaOf('line')}, context, id, state, description, target_url, 0, 0
    FROM (SELECT *, dense_rank() OVER (ORDER BY sha) AS line FROM commit_status.statuses) AS numbered`,
  )
  await sql(store, 'VACUUM ANALYZE commit_status.statuses')
}

function report(sha: string, index: number): LoadRequest {
  return {
    method: 'POST',
    path: `/api/v1/repos/alice/hello/statuses/${sha}`,
    body: JSON.stringify({ ...realisticReport(index), context: `ci/check-${index % CONTEXTS}` }),
  }
}

function list(sha: string): LoadRequest {
  return { method: 'GET', path: `/api/v1/repos/alice/hello/commits/${sha}/statuses` }
}

/** A commit of a number, that `pgbench` can work out: the same as many in another repository. */
const shaOf = (number: string): string => `decode(md5(${number}::text) || '00000000', 'hex')`
const ANY_SHA = shaOf(':any')
const PICK = `\\set any random(1, ${COMMITS})\n\\set number random(0, ${CONTEXTS - 1})\n`

function saveScript(): string {
  const values = [
    "ARRAY['alice/limit/'::bytea]",
    'ARRAY[1800000000000]',
    'ARRAY[7]',
    'ARRAY[500]',
    '500',
    "'2100-01-01T00:00:00Z'",
    `ARRAY[${ANY_SHA}]`,
    "ARRAY[convert_to('ci/check-' || :number, 'UTF8')]",
    "ARRAY['abcdefghijkl']",
    "ARRAY['success']",
    "ARRAY['All 4711 tests passed in 3 min']",
    "ARRAY['https://ci.example.com/jobs/4711']",
    "ARRAY['alice'::bytea]",
    "ARRAY['0a1b2c3d4e5f']",
  ]
  return `${PICK}${values.reduceRight((text, value, index) => text.replaceAll(`$${index + 1}`, value), SAVE.text)};\n`
}

function listScript(): string {
  return `${PICK}SELECT ${COLUMNS} FROM commit_status.statuses
WHERE repository = 'alice/limit/'::bytea AND sha = ${ANY_SHA} ORDER BY context LIMIT 101;\n`
}

/** Transactions a second. */
async function pgbench(
  server: PostgresServer,
  store: string,
  script: string,
  clients: number,
  seconds: number,
): Promise<number> {
  const args = [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(clients),
    '-j',
    '1',
    '-T',
    String(seconds),
    '-f',
    script,
    '-h',
    join(server.folder, 'socket'),
    '-U',
    'postgres',
    new URL(store).pathname.slice(1),
  ]
  const { stdout } = await promisify(execFile)(binary('pgbench'), args)
  return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
}

async function committed(store: string): Promise<number> {
  const [row] = await sql(
    store,
    'SELECT xact_commit::float8 AS commits FROM pg_stat_database WHERE datname = current_database()',
  )
  return Number(row?.['commits'])
}
