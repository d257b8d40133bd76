import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The name of a user of this machine; `undefined` for a number without one. */
export async function userName(uid: number): Promise<string | undefined> {
  return await promisify(execFile)('id', ['-un', String(uid)]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}
