import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'

const folder = fileURLToPath(new URL('../http', import.meta.url))

/** What happens before a store is asked, or apart from it. */
const apart = ['body', 'edges', 'expectation', 'metrics', 'openapi'].map((name) => `${name}.test.ts`)

/** Who reported, through every compatible API, and all that one of them promises: what is below them is the same. */
const compatible = ['compatible/creators.test.ts', 'compatible/gitea.test.ts']

/** Signing in: the admin's commands are another instance then. */
const signingIn = ['../pages/sessions.test.ts']

/** Who asks is found otherwise. */
const attacks = ['../attacks/budget-races.test.ts']

// Most of spec/http once more, on a machine that does other things as well.
t.setTimeout(isCitusMissing === false ? 2_400_000 : 600_000)

t.test('The specification of the API holds on PostgreSQL', { skip: isMissing, timeout: 600_000 }, async (t) => {
  const server = await PostgresServer.start(t)
  specify(t, { COMMIT_STATUS_TEST_STORE: await server.template() })
})

t.test('The specification of the API holds on Citus', { skip: isCitusMissing, timeout: 1_800_000 }, async (t) => {
  const cluster = await CitusCluster.start(t)
  specify(t, {
    COMMIT_STATUS_TEST_STORE: await cluster.template(),
    COMMIT_STATUS_TEST_NODES: cluster.nodes.join(' '),
  })
})

function specify(t: Test, database: NodeJS.ProcessEnv): void {
  const environment = { ...process.env, ...database }
  t.jobs = 2
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.ts') && !apart.includes(file))
  for (const name of [...files, ...compatible, ...signingIn, ...attacks].sort()) {
    void t.spawn(
      process.execPath,
      [...process.execArgv, join(folder, name)],
      { env: environment, buffered: true },
      name,
    )
  }
}
