import { dayOf } from '../day.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'

/** The day stands among what instances write over and over; they look for their own rows from 0 on. */
const SLOT = -1

const CLAIM: Statement = {
  name: 'claim-day',
  text: `INSERT INTO commit_status.probes (slot, written_at) VALUES (${SLOT}, $1)
ON CONFLICT (slot) DO UPDATE SET written_at = EXCLUDED.written_at
WHERE probes.written_at < EXCLUDED.written_at OR probes.written_at >= $2`,
}

/** Claims a day for one of all instances. */
export async function claimDay(database: PostgresDatabase, now: number): Promise<boolean> {
  const { start, wrong } = dayOf(now)
  return (await database.change(CLAIM, [start, wrong])) > 0
}
