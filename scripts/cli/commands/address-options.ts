import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { errorMessage } from '../../../lib/errors.js'
import { parseObjectId } from '../../../lib/domain/object-id.js'
import { parseRepositoryName } from '../../../lib/domain/repository-name.js'
import { CheckoutError, clonedRepository, commitNamed, configuredUrl, headCommit } from '../git/checkout.js'
import { pathIn, type Io } from '../terminal/io.js'
import { hasMore, isToken, serviceAddress } from '../clients/service-address.js'

/** Where the service of a command is that speaks to it over HTTP, and as whom. */
export interface AddressOptions {
  readonly url?: URL
  readonly tokenFile?: string
}

/** The option that names a service; the environment is for `givenUrl`, since commander looks at the process's own. */
export function urlOption(): Option {
  return new Option('--url <base>', 'address of the service (env: COMMIT_STATUS_URL)').argParser(address)
}

/** The address that an option or else the environment gives; ends the command when it is none. */
export function givenUrl({ env }: Io, command: Command, url: URL | undefined): URL | undefined {
  const { COMMIT_STATUS_URL: text } = env
  if (url !== undefined || text === undefined) return url
  const from = `option '--url <base>' value '${text}' from env 'COMMIT_STATUS_URL'`
  return serviceAddress(text) ?? command.error(`error: ${from} is invalid. ${ADDRESS_FORM}`)
}

const ADDRESS_FORM = 'It must be like https://status.example.com.'

/** Adds the options of `AddressOptions`. */
export function addressed(command: Command): Command {
  return command
    .addOption(urlOption())
    .option('--token-file <file>', 'file that holds the token; else the token is in COMMIT_STATUS_TOKEN')
}

/**
 * The commit that a command is about, by default the one that is checked out; ends the command when it is wrong.
 * @param first the repository; alone and without a slash, the commit
 */
export async function commitAsked(
  io: Io,
  command: Command,
  first: string | undefined,
  second: string | undefined,
  { url, tokenFile }: AddressOptions,
): Promise<{ url: URL; token: string; repository: string; sha: string }> {
  const base = await checkedUrl(io, command, url)
  const token = await givenToken(io, command, tokenFile)
  if (token === undefined) command.error('error: no token: set COMMIT_STATUS_TOKEN, or give --token-file')
  // A name of a repository has a slash: what has none, and stands alone, is a commit.
  const [repository, sha] =
    first?.includes('/') === false && second === undefined ? [undefined, first] : [first, second]
  const name = await repositoryAsked(io, command, repository)
  const commit =
    sha === undefined
      ? await fromCheckout(command, 'commit', async () => await headCommit(io))
      : await fullCommit(io, sha)
  if (!parseObjectId(commit))
    command.error(
      `error: ${JSON.stringify(commit)} is not a full 40 or 64 character hex commit id, nor known to git here`,
    )
  return { url: base, token, repository: name, sha: commit }
}

/** The repository that a command is about, by default what the checkout is a clone of; ends the command otherwise. */
export async function repositoryAsked(io: Io, command: Command, given: string | undefined): Promise<string> {
  const name = given ?? (await fromCheckout(command, 'repository', async () => await clonedRepository(io)))
  if (!parseRepositoryName(name)) command.error(`error: ${JSON.stringify(name)} is no repository name: <owner>/<repo>`)
  return name
}

/** A commit that is not named in full is what the checkout knows by that name; else it stays as it is. */
export async function fullCommit(io: Io, name: string): Promise<string> {
  return parseObjectId(name) ? name : ((await commitNamed(io, name)) ?? name)
}

/** Ends the command, with the reason, where the address is missing or has what no address of a service has. */
export async function checkedUrl(io: Io, command: Command, option: URL | undefined): Promise<URL> {
  const url = givenUrl(io, command, option) ?? (await urlOfCheckout(io, command))
  if (url === undefined)
    command.error(
      'error: no address of the service: give --url, set COMMIT_STATUS_URL, or git config commit-status.url',
    )
  // Here, without the address: it may hold a password.
  if (hasMore(url)) command.error('error: the address of the service must have no user, password, ? or #')
  return url
}

async function urlOfCheckout(io: Io, command: Command): Promise<URL | undefined> {
  const text = await configuredUrl(io)
  if (text === undefined) return undefined
  // Not shown: it may hold a password.
  return serviceAddress(text) ?? command.error(`error: commit-status.url of git is no address. ${ADDRESS_FORM}`)
}

function address(text: string): URL {
  const url = serviceAddress(text)
  if (!url) throw new InvalidArgumentError(ADDRESS_FORM)
  return url
}

async function fromCheckout(command: Command, what: string, look: () => Promise<string>): Promise<string> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof CheckoutError)) throw error
    command.error(`error: no ${what} is given, and none can be told from the folder: ${error.message}`)
  }
}

/** The token from a file or the environment, `undefined` when neither names one. No message shows what was read. */
export async function givenToken(io: Io, command: Command, file: string | undefined): Promise<string | undefined> {
  const read =
    file === undefined ? Promise.resolve(io.env['COMMIT_STATUS_TOKEN'] ?? '') : readFile(pathIn(io, file), 'utf8')
  const where = file ?? 'COMMIT_STATUS_TOKEN'
  const token = (
    await read.catch((error: unknown) => command.error(`error: the token cannot be read: ${errorMessage(error)}`))
  ).trim()
  if (token === '' && file === undefined) return undefined
  if (token === '') command.error(`error: there is no token in ${where}`)
  if (!isToken(token)) command.error(`error: what is in ${where} is no token`)
  return token
}
