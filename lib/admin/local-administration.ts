import type { AdministrationParts } from './administration-parts.js'
import type { Administration } from './administration.js'
import { repositoryAdministration } from './repository-administration.js'
import { storeAdministration } from './store-administration.js'
import { tokenAdministration } from './token-administration.js'

/** Administration of the store and the repositories at hand. */
export function localAdministration(parts: AdministrationParts): Administration {
  return { ...tokenAdministration(parts), ...repositoryAdministration(parts), ...storeAdministration(parts) }
}
