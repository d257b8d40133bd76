import { CommandPolicy } from '../auth/command-policy.js'
import { chain, settle, type MaybePromise } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { RepositoryFolder } from '../git/repository-folder.js'

/** The setting `rights`. */
export interface RightsSetting {
  /** Empty: rights are those of owners and grants. */
  readonly command: readonly string[]
  readonly seconds: number
}

/** Rights that a program of the git server tells, where there is one. */
export function openRights(
  { command, seconds }: RightsSetting,
  dependencies: { folder: RepositoryFolder; logger: Logger; cacheBytes?: number },
): CommandPolicy | undefined {
  if (command.length === 0) return undefined
  const { folder, ...rest } = dependencies
  return new CommandPolicy({ command, seconds, nameOf: (name) => gitServerName(folder, name), ...rest })
}

/**
 * What the git server calls a repository: its path below the folder, without `.git`. One that cannot be looked at
 * counts as there; `undefined`: there is none.
 */
function gitServerName(folder: RepositoryFolder, name: RepositoryName): MaybePromise<string | undefined> {
  return chain(
    settle(() => folder.find(name)),
    (looked) => {
      if ('error' in looked) return name.full
      const { path = '' } = looked.value ?? {}
      return path === '' ? undefined : path.replace(/\.git$/, '')
    },
  )
}
