import type { AdministrationDependencies } from './administration-dependencies.js'
import type { Administration } from './administration.js'
import { hookAdministration } from './hook-administration.js'
import { repositoryAdministration } from './repository-administration.js'
import { storeAdministration } from './store-administration.js'
import { tokenAdministration } from './token-administration.js'

/** Administration of the store and the repositories at hand. */
export function localAdministration(dependencies: AdministrationDependencies): Administration {
  return {
    ...tokenAdministration(dependencies),
    ...hookAdministration(dependencies),
    ...repositoryAdministration(dependencies),
    ...storeAdministration(dependencies),
  }
}
