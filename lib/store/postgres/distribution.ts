import type { Connection, Statement } from './connection.js'

/**
 * Tables whose rows go where the column `repository` says, all of a repository to one node. Everything else is on the
 * server that is asked, the coordinator of Citus. Where the first one is spread, so are the others.
 */
const SPREAD = ['statuses', 'outbox', 'broken_branches'] as const

const HAS_CITUS: Statement = {
  name: 'has-citus',
  text: "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS found",
}

const NOT_SPREAD: Statement = {
  name: 'tables-not-spread',
  text: `SELECT t.name FROM unnest($1::text[]) AS t (name) WHERE NOT EXISTS (
  SELECT 1 FROM pg_catalog.pg_dist_partition
  WHERE logicalrelid = to_regclass('commit_status.' || t.name) AND partmethod = 'h')`,
}

const DISTRIBUTE: Statement = {
  name: 'distribute',
  text: `SELECT create_distributed_table(('commit_status.' || $1::text)::regclass, 'repository',
  colocate_with => CASE $1 WHEN '${SPREAD[0]}' THEN 'default' ELSE 'commit_status.${SPREAD[0]}' END)`,
}

/** Whether Citus has spread the statuses over its nodes. */
export async function isDistributed(connection: Connection): Promise<boolean> {
  return (await hasCitus(connection)) && !(await notSpread(connection)).has(SPREAD[0])
}

/**
 * Spreads the tables over the nodes of Citus, where the database has it.
 * @param plain leaves them where they are, unless the first one is spread
 * @param spreading is called before the first one is, which takes long where it has much
 */
export async function distribute(connection: Connection, plain: boolean, spreading: () => void): Promise<void> {
  if (!(await hasCitus(connection))) return
  const left = await notSpread(connection)
  if (left.size === 0 || (plain && left.has(SPREAD[0]))) return
  if (left.has(SPREAD[0])) spreading()
  for (const table of SPREAD.filter((table) => left.has(table))) await connection.query(DISTRIBUTE, [table])
}

async function hasCitus(connection: Connection): Promise<boolean> {
  const rows = await connection.query<{ found: boolean }>(HAS_CITUS, [])
  return rows.some(({ found }) => found)
}

async function notSpread(connection: Connection): Promise<Set<string>> {
  const rows = await connection.query<{ name: string }>(NOT_SPREAD, [SPREAD])
  return new Set(rows.map(({ name }) => name))
}
