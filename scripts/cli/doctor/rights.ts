import { silentLogger } from '../../../lib/contracts/logger.js'
import { openRights } from '../../../lib/embedding/open-rights.js'
import { errorMessage } from '../../../lib/errors.js'
import { RepositoryFolder } from '../../../lib/git/repository-folder.js'
import type { Settings } from '../../../lib/stand-alone/settings.js'
import { doubtful, ok, wrong, type Finding } from './findings.js'

/** Whose rights are asked for: those of no user whose name is worth a look in the log of the git server. */
const USER = 'doctor'

/** Whether the program that tells rights does, of a repository that is there; nothing where no program does. */
export async function rights({
  repositories,
  topOwner,
  rights: setting,
}: Pick<Settings, 'repositories' | 'topOwner' | 'rights'>): Promise<Finding[]> {
  const folder = new RepositoryFolder(repositories, { topOwner })
  const policy = openRights(setting, { folder, logger: silentLogger })
  if (!policy) return []
  const program = setting.command.join(' ')
  try {
    // What cannot be read is named where the folder is looked into.
    const { found } = await folder.listing(() => undefined).catch(() => ({ found: [] }))
    for (const { name } of found) {
      const said = await policy.explain(USER, name)
      if (said) return [ok('rights', `${program} says of the user ${USER} and ${name.full}: R ${said.R}, W ${said.W}`)]
    }
    return [doubtful('rights', `${program} was not asked: there is no repository that it could know`)]
  } catch (error) {
    return [wrong('rights', `${program}: ${errorMessage(error)}; requests get 503`)]
  }
}
