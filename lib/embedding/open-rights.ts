import { CommandPolicy } from '../auth/command-policy.js'
import { chain, settle } from '../concurrency/maybe-promise.js'
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
  const gitServerName = ({ full }: RepositoryName): string => full
  return new CommandPolicy({
    ...{ command, seconds },
    nameOf: (name) => chain(isThere(folder, name), (there) => (there ? gitServerName(name) : undefined)),
    ...rest,
  })
}

/** Whether there is a repository; one that cannot be looked at counts as there. */
function isThere(folder: RepositoryFolder, name: RepositoryName) {
  return chain(
    settle(() => folder.find(name)),
    (looked) => 'error' in looked || looked.value !== undefined,
  )
}
