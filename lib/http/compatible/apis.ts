import type { CompatibleApi } from './api.js'
import { gitea } from './gitea.js'
import { github } from './github.js'
import { gitlab } from './gitlab.js'
import type { Operations } from './operations.js'

/** Every API of others that this service has, by its name in the settings. */
export const compatibleApis = { github, gitea, gitlab } satisfies Record<
  string,
  (operations: Operations) => CompatibleApi
>

export type CompatibleApiName = keyof typeof compatibleApis
