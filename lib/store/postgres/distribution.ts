import type { Connection, Statement } from './connection.js'

const HAS_CITUS: Statement = {
  name: 'has-citus',
  text: "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS found",
}

const IS_DISTRIBUTED: Statement = {
  name: 'is-distributed',
  text: `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition
WHERE logicalrelid = 'commit_status.statuses'::regclass AND partmethod = 'h') AS found`,
}

/** Where the rows of the statuses go: everything else is on the server that is asked, the coordinator of Citus. */
const DISTRIBUTE: Statement = {
  name: 'distribute',
  text: "SELECT create_distributed_table('commit_status.statuses', 'repository')",
}

/** Whether the database has Citus. */
export async function hasCitus(connection: Connection): Promise<boolean> {
  return await finds(connection, HAS_CITUS)
}

/** Whether Citus has spread the statuses over its nodes. */
export async function isDistributed(connection: Connection): Promise<boolean> {
  return (await hasCitus(connection)) && (await finds(connection, IS_DISTRIBUTED))
}

/** Spreads the statuses over the nodes of Citus, all of a repository to one of them. */
export async function distribute(connection: Connection): Promise<void> {
  await connection.query(DISTRIBUTE, [])
}

async function finds(connection: Connection, statement: Statement): Promise<boolean> {
  const rows = await connection.query<{ found: boolean }>(statement, [])
  return rows.some(({ found }) => found)
}
