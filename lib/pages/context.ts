import type { Administration } from '../admin/administration.js'
import type { Sessions } from '../auth/sessions.js'
import { repositoryName, type RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import type { CommitLog } from '../git/commit-log.js'
import type { RefLists } from '../git/ref-lists.js'
import type { Refs } from '../git/refs.js'
import type { PublicAddress } from '../http/public-address.js'
import type { Request } from '../http/surface.js'
import type { CacheShares } from '../contracts/cache-shares.js'
import type { Meter } from '../contracts/meter.js'
import type { Clock } from '../contracts/clock.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import type { Logger } from '../contracts/logger.js'
import type { Caller } from '../service/repository-access.js'
import type { StatusLists } from '../service/status-lists.js'
import type { PageFrame } from './html/layout.js'
import type { ReadableRepositories } from './readable-repositories.js'
import type { Visitors } from './visitor.js'

/** Of an address to go back to: it goes into links and a cookie. */
const MAX_RETURN_CHARACTERS = 1000

const ANY_ORIGIN = 'http://localhost'

/** What pages are made of. */
export interface PageContext {
  /** What the addresses of pages begin with; empty, or with a slash in front and none at the end. */
  readonly base: string
  /** Owns the repositories that are in no folder. */
  readonly topOwner: string
  /** What they are called. */
  readonly title: string
  /** Where the repository browser shows a commit, with places for the repository and the id. */
  readonly commitUrl?: string
  /** Whether a proxy may have taken the base off. */
  readonly isBaseOptional: boolean
  readonly lists: StatusLists
  readonly refs: Refs
  readonly refLists: RefLists
  readonly log: CommitLog
  /** Absent where the host finds repositories in a way of its own, which cannot list them. */
  readonly repositories?: ReadableRepositories
  /** The folder of the repositories, as it is shown to whoever sits at the machine. */
  readonly folder?: string
  /** The command that administers this service, for a shell of this machine; `undefined` where nobody knows. */
  readonly command: string | undefined
  readonly visitors: Visitors
  /** Where to sign in, if anywhere. */
  readonly signInUrl?: string
  /** Of those who sign in by links; absent where others identify the visitor. */
  readonly sessions?: Sessions
  /** The line that prints such a link to whoever runs it, for people to see; empty: nobody knows of one. */
  readonly linkCommand?: string
  /** Absent where the host has tokens of its own. */
  readonly tokens?: Pick<Administration, 'createToken' | 'listTokens' | 'revokeToken'>
  /** Absent where there are none. */
  readonly hooks?: Pick<Administration, 'listHooks'>
  readonly address: PublicAddress
  readonly clientAddress: (request: Request) => string
  /** Whether the peer of a request is a trusted reverse proxy. */
  readonly isTrustedPeer: (request: Request) => boolean
  readonly failures: MaybeSync<FailureBudget>
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly shares: CacheShares
}

/** Who looks, and where pages are. Throws as `Visitors`. */
export async function frameOf(pageContext: PageContext, request: Request): Promise<PageFrame> {
  const { base, title, visitors } = pageContext
  const visitor = await visitors(request, repositoryOf(request))
  return { base, site: title, visitor, signInUrl: signInUrlOf(pageContext, addressOf(pageContext, request)) }
}

/** Where to sign in, and go back from to a page that `returnPath` takes. */
export function signInUrlOf({ base, signInUrl }: PageContext, page: string | undefined): string {
  const back = page === undefined ? undefined : returnPath(base, page)
  if (signInUrl !== undefined) return signInUrl.replaceAll('{return}', () => encodeURIComponent(back ?? `${base}/`))
  const query = back === undefined || back === `${base}/` ? '' : `?return=${encodeURIComponent(back)}`
  return `${base}/sign-in${query.replaceAll('%2F', '/')}`
}

/** A page's address, as `returnPath` takes it. */
export function addressOf({ base }: PageContext, { path, search }: Request): string {
  return base + path + search
}

/**
 * Where people may be sent once they are signed in: the address of a page of ours as we write it. What a browser reads
 * otherwise than it is written, a double slash or a backslash for one, might lead to another host.
 */
export function returnPath(base: string, address: string): string | undefined {
  const isOurs =
    address.length <= MAX_RETURN_CHARACTERS &&
    URL.canParse(address, ANY_ORIGIN) &&
    new URL(address, ANY_ORIGIN).href === ANY_ORIGIN + address &&
    address.startsWith(base) &&
    /^\/(?:$|\?|repos\/|settings\/)/.test(address.slice(base.length))
  return isOurs ? address : undefined
}

export function callerOf({ visitor }: PageFrame): Caller {
  const { user, rights } = visitor
  return user === undefined ? {} : { user, ...(rights && { rights }) }
}

/** The repository that a page is about; `undefined` also where its name breaks the name rules. */
export function repositoryOf({ params: { owner = '', repo = '' } }: Request): RepositoryName | undefined {
  return repositoryName(owner, repo)
}

/**
 * The time that pages are made with: within a minute a page that has not changed is the same for every reader, and
 * answered with 304.
 */
export function minuteNow({ clock }: Pick<PageContext, 'clock'>): number {
  return Math.floor(clock.now() / 60_000) * 60_000
}

/** The parameters behind the question mark. */
export function queryOf({ search }: Request): URLSearchParams {
  return new URLSearchParams(search)
}

/** A number of rows that are passed over; how long git takes to do so has a bound of its own. */
export function skipOf(query: URLSearchParams): number {
  const text = query.get('skip') ?? '0'
  if (!/^\d{1,7}$/.test(text)) throw new ServiceError('path_unknown')
  return Number(text)
}
