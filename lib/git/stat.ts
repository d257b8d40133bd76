import { stat } from 'node:fs'
import { promisify } from 'node:util'

/** Does what `stat` of node:fs/promises does, in about a quarter less processor time: every request asks. */
export const quickStat = promisify(stat)

/** ENOENT and ENOTDIR mean that there is nothing; any other error means that we do not know. */
export function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** Handles the rejection of a look: these errors mean that there is nothing. */
export function undefinedFor(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Error && 'code' in error && codes.includes(String(error.code)))) throw error
    return undefined
  }
}
