import { defaultOf, objectSchema, schemasOf, settings } from '../../config/settings.js'
import { CommandPolicy } from '../auth/command-policy.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { AccessPolicy } from '../contracts/access-policy.js'
import { silentLogger, type Logger } from '../contracts/logger.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ruleText, Schema } from '../domain/schema.js'
import { guardLogger } from './guarded-parts.js'
import type { RightsSetting } from './open-rights.js'

export interface CommandAccessPolicyOptions {
  /** The program and its arguments; `{access}` among them becomes `R` or `W`. */
  readonly command: readonly string[]
  /** How long an answer is remembered; default: 10. */
  readonly seconds?: number
  /** What the git server calls a repository, `undefined` where there is none; default: `owner/repo`. */
  readonly nameOf?: (repository: RepositoryName) => MaybePromise<string | undefined>
  /** Where it is said why rights cannot be determined. Default: nowhere. */
  readonly logger?: Logger
}

const setting = new Schema<RightsSetting>(
  objectSchema(
    schemasOf(
      settings.filter(({ key }) => key.startsWith('rights.')),
      true,
      'rights.',
    ),
    true,
  ),
)

/**
 * Rights that a program of the git server tells: for a host's option `accessPolicy` what the setting `rights.command`
 * is for a service of its own.
 * @returns with `close()`, which ends the programs that run
 * @throws TypeError for what cannot be a command, or seconds
 */
export function commandAccessPolicy(options: CommandAccessPolicyOptions): Required<AccessPolicy> & { close(): void } {
  const {
    command,
    seconds = defaultOf('rights.seconds'),
    nameOf = ({ full }: RepositoryName) => full,
    logger = silentLogger,
  } = options
  if (!setting.is({ command, seconds }) || command.length === 0) {
    const wrong = setting.errors.map((error) => `${error.instancePath.slice(1)} ${ruleText(error)}`)
    throw new TypeError(`commandAccessPolicy: ${wrong.join(', ') || 'the command must not be empty'}`)
  }
  const policy = new CommandPolicy({ command, seconds, nameOf, logger: guardLogger(logger) })
  return {
    access: async (user, repository, wanted) => await policy.access(user, repository, wanted),
    accessToEach: async (user, repositories, wanted) => await policy.accessToEach(user, repositories, wanted),
    close: () => {
      policy.close()
    },
  }
}
