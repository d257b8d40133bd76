import { access, constants, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { settings as table } from '../../../config/settings.js'
import { nameAtPath, parseRepositoryName } from '../../../lib/domain/repository-name.js'
import { errorMessage } from '../../../lib/errors.js'
import { RepositoryFolder } from '../../../lib/git/repository-folder.js'
import { HOME, usualSettings } from '../administration/command-settings.js'
import { repositoryAt } from '../git/checkout.js'
import { pathIn, type Io } from '../terminal/io.js'
import { git, GateError } from './git.js'

/** How long the links of a folder are looked through: whoever pushes waits. */
const LISTING_MILLISECONDS = 2_500

/** What git's configuration says of the repository that is pushed to. */
export interface GivenRepository {
  /** `owner/repo` */
  readonly repository?: string
  /** The folder of all repositories. */
  readonly repositories?: string
  readonly topOwner?: string
}

interface Folder {
  readonly path: string
  readonly topOwner: string
}

/**
 * What the service calls the repository that is pushed to. Nothing that whoever pushes can choose has a say: it is what
 * git's configuration names, else where it stands in the folder of all repositories, which that configuration, the
 * settings of the service or gitolite tell, else what its path looks like.
 * @param settingsFile absent: that of the environment or of the machine
 * @throws GateError
 */
export async function pushedRepository(io: Io, given: GivenRepository, settingsFile?: string): Promise<string> {
  if (given.repository !== undefined) {
    const named = parseRepositoryName(given.repository)
    if (named) return named.full
    throw new GateError(`set commit-status.repository to <owner>/<repo>: ${given.repository} does not tell it`)
  }
  // The one whose refs are pushed to, also from a work tree beside it.
  const common = await realpath(pathIn(io, await git(io, 'rev-parse', '--git-common-dir')))
  const directory = common.replace(/\/\.git$/, '')
  const folder = await folderOf(io, given, directory, settingsFile)
  const name = folder ? await nameIn(folder, directory) : repositoryAt(directory)
  if (name !== undefined) return name
  throw new GateError(
    'set commit-status.repositories to the folder of all repositories, or commit-status.repository to ' +
      '<owner>/<repo>: the path does not tell it',
  )
}

/** The folder of all repositories; `undefined` where nothing names it. */
async function folderOf(
  io: Io,
  { repositories, topOwner }: GivenRepository,
  directory: string,
  settingsFile: string | undefined,
): Promise<Folder | undefined> {
  if (repositories?.startsWith('/') === false)
    throw new GateError('commit-status.repositories must be an absolute path')
  const { settings, from } = await serviceSettings(io, settingsFile)
  const owner = topOwner ?? settings.topOwner
  if (repositories !== undefined) return { path: repositories, topOwner: owner }
  const usual = { path: settings.repositories, topOwner: owner }
  if (from.has('repositories')) return usual
  const { GL_REPO_BASE: base, GL_REPO: repo } = io.env
  if (base !== undefined && repo !== undefined && (await real(join(base, `${repo}.git`))) === directory)
    return { path: base, topOwner: owner }
  // A checkout of this project has it where nobody has chosen one.
  const path = await real(usual.path)
  return path !== undefined && directory.startsWith(`${path}/`) ? usual : undefined
}

/** Those of the service, as far as they may be read here: the store's password may stand in their file. */
async function serviceSettings(io: Io, settingsFile: string | undefined) {
  // Only here: a repository that is named needs none of it.
  const { readGivenSettings } = await import('../../../lib/stand-alone/settings.js')
  const named = settingsFile ?? io.env['COMMIT_STATUS_CONFIG']
  const path = named ?? usualSettings(io)
  const isReadable = path === '' || (await mayRead(resolve(io.cwd(), path)))
  try {
    return readGivenSettings({
      environment: Object.fromEntries(VARIABLES.map((name) => [name, io.env[name]])),
      home: HOME,
      directory: io.cwd(),
      ...(isReadable ? named !== undefined && { file: named } : { file: '' }),
      usualFile: usualSettings(io),
    })
  } catch (error) {
    throw new GateError(errorMessage(error))
  }
}

/** The others are for the service, and none of them is wrong here. */
const VARIABLES = table.filter(({ key }) => ['repositories', 'topOwner'].includes(key)).map((row) => row.environment)

/** `true` also for what is not there. */
async function mayRead(path: string): Promise<boolean> {
  return await access(path, constants.R_OK).then(
    () => true,
    (error: unknown) => !(error instanceof Error && 'code' in error && error.code === 'EACCES'),
  )
}

async function nameIn({ path, topOwner }: Folder, directory: string): Promise<string> {
  const folder = await realpath(path).catch((error: unknown) => {
    throw new GateError(`${SETTING}: ${errorMessage(error)}`)
  })
  const repositories = new RepositoryFolder(folder, { topOwner })
  const below = directory.startsWith(`${folder}/`) ? directory.slice(folder.length + 1) : undefined
  const name = below === undefined ? undefined : nameAtPath(below.replace(/\.git$/, ''), topOwner)
  const found = name && (await repositories.find(name))
  // Another one may hide it.
  if (name && found && (await real(found.directory)) === directory) return name.full
  // It may be where only a link leads.
  const { found: listed, skipped } = await inTime(
    repositories.listing(() => undefined),
    folder,
  )
  const all = await Promise.all(
    listed.map(async (each) => ((await real(each.directory)) === directory ? [each.name.full] : [])),
  )
  const [first, second] = all.flat()
  if (first !== undefined && second === undefined) return first
  if (second !== undefined) throw new GateError(`it is ${all.flat().slice(0, 3).join(' and ')}: ${ONE_OF_THEM}`)
  const reason = skipped.find((each) => each.path === below)?.reason
  throw new GateError(
    below === undefined
      ? `${SETTING}: the repository is not in ${folder}`
      : `the repository is not served${reason === undefined ? '' : `: ${reason}`}`,
  )
}

const SETTING = 'set commit-status.repositories to the folder of the service'
const ONE_OF_THEM = 'set commit-status.repository to one of them'

async function inTime<T>(listing: Promise<T>, folder: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new GateError(`it takes too long to look through ${folder}: set commit-status.repository`))
    }, LISTING_MILLISECONDS)
  })
  try {
    return await Promise.race([listing, late])
  } finally {
    clearTimeout(timer)
  }
}

/** `undefined` for what is not there, or out of reach. */
async function real(path: string): Promise<string | undefined> {
  return await realpath(path).catch(() => undefined)
}
