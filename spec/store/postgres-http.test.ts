import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'

const folder = fileURLToPath(new URL('../http', import.meta.url))

// Specs of what happens before a store is asked, or apart from it.
const APART = ['body', 'edges', 'expectation', 'metrics', 'openapi'].map((name) => `${name}.test.ts`)

// Most of spec/http once more, on a machine that does other things as well.
t.setTimeout(600_000)

t.test('The specification of the API holds on PostgreSQL', { skip: isMissing, timeout: 600_000 }, async (t) => {
  const server = await PostgresServer.start(t)
  const environment = { ...process.env, COMMIT_STATUS_TEST_STORE: await server.template() }
  t.jobs = 2
  for (const name of readdirSync(folder)
    .filter((file) => file.endsWith('.test.ts') && !APART.includes(file))
    .sort()) {
    void t.spawn(
      process.execPath,
      [...process.execArgv, join(folder, name)],
      { env: environment, buffered: true },
      name,
    )
  }
})
