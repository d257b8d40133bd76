import type { IncomingMessage } from 'node:http'
import { defaultOf } from '../../config/settings.js'
import type { Administration } from '../admin/administration.js'
import { GrantPolicy } from '../auth/grants.js'
import type { Sessions } from '../auth/sessions.js'
import { PartError, ServiceError } from '../errors.js'
import { CommitLog } from '../git/commit-log.js'
import type { GitProcesses } from '../git/git-process.js'
import type { RefLists } from '../git/ref-lists.js'
import type { Refs } from '../git/refs.js'
import type { PublicAddress } from '../http/public-address.js'
import type { Surface } from '../http/surface.js'
import type { CacheShares } from '../contracts/cache-shares.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import { createPages } from '../pages/pages.js'
import { proxyVisitors } from '../pages/proxy-sign-in.js'
import { ReadableRepositories } from '../pages/readable-repositories.js'
import { SessionCookie } from '../pages/session-cookie.js'
import { NOBODY, type Visitors } from '../pages/visitor.js'
import { isUserName } from '../domain/repository-name.js'
import type { StatusLists } from '../service/status-lists.js'
import { callPart, type PartCall } from './guarded-call.js'
import type { Dependencies } from './open-dependencies.js'
import type { HostPages } from './options.js'

/** The pages of a service of its own, and how people sign in to them. */
export type StandAlonePages = {
  /** What the addresses of the pages begin with, for browsers: a proxy has taken it off. */
  readonly base?: string
  readonly url?: string
  readonly title?: string
  readonly commitUrl?: string
  /** The command that administers this service, for a shell of this machine. */
  readonly command?: string | undefined
} & (
  | {
      /** In which a trusted reverse proxy names the user. */
      readonly header: string
      readonly secret?: string
    }
  | {
      /** By links: the line that prints one to whoever runs it, for people to see; empty: nobody knows of one. */
      readonly linkCommand: string
    }
)

export interface OpenPagesDependencies extends Pick<Dependencies, 'folder' | 'failures' | 'policy' | 'clock'> {
  /** Of those who sign in by links. */
  readonly sessions: Sessions
  readonly lists: StatusLists
  readonly refs: Refs
  readonly refLists: RefLists
  readonly git: GitProcesses
  /** Absent where the host has tokens of its own. */
  readonly tokens: Pick<Administration, 'createToken' | 'listTokens' | 'revokeToken'> | undefined
  /** Absent where there are none. */
  readonly hooks: Pick<Administration, 'listHooks'> | undefined
  readonly clientAddress: (request: IncomingMessage) => string
  readonly address: PublicAddress
  readonly isTrustedPeer: (request: IncomingMessage) => boolean
  readonly logger: Logger
  readonly meter: Meter
  readonly shares: CacheShares
  readonly guard: PartCall
}

/** Puts the pages together. */
export function openPages(pages: HostPages | StandAlonePages, dependencies: OpenPagesDependencies): Surface {
  const { lists, refs, git, tokens, hooks, folder, policy, clientAddress, failures, logger, address } = dependencies
  const { base = '', title = defaultOf('title'), commitUrl = defaultOf('commitUrl') } = pages
  const [url, command] = 'session' in pages ? [pages.signInUrl, undefined] : [pages.url, pages.command]
  const visitors = (): Visitors => {
    if ('session' in pages) return hostVisitors(pages, dependencies.guard)
    if ('linkCommand' in pages) {
      const cookie = new SessionCookie(base)
      return async (request, repository) => {
        const asked = policy instanceof GrantPolicy ? repository : undefined
        return await cookie.visitor(dependencies.sessions, request, address.called(request), asked)
      }
    }
    const { header, secret } = pages
    const { isTrustedPeer: isTrusted, meter } = dependencies
    return proxyVisitors({ header, isTrusted, meter, ...(secret !== undefined && { secret }) })
  }
  return createPages({
    base,
    topOwner: folder?.topOwner ?? defaultOf('topOwner'),
    title,
    ...(commitUrl !== '' && { commitUrl }),
    isBaseOptional: !('session' in pages),
    lists,
    refs,
    refLists: dependencies.refLists,
    log: new CommitLog(git, dependencies.meter, dependencies.shares.logs),
    ...(folder && {
      folder: folder.path,
      repositories: new ReadableRepositories(
        () =>
          folder.list((error) => {
            logger.warn({ err: error }, 'a part of the folder of repositories cannot be read')
          }),
        async (user, names) => await lists.readable(user, names),
        policy.accessToEach !== undefined,
      ),
    }),
    visitors: visitors(),
    ...(url !== undefined && { signInUrl: url }),
    command,
    ...('linkCommand' in pages && { sessions: dependencies.sessions, linkCommand: pages.linkCommand }),
    ...(tokens && { tokens }),
    ...(hooks && { hooks }),
    address,
    clientAddress,
    isTrustedPeer: dependencies.isTrustedPeer,
    failures,
    clock: dependencies.clock,
    logger,
    meter: dependencies.meter,
    shares: dependencies.shares,
  })
}

function hostVisitors(pages: HostPages, guard: PartCall): Visitors {
  return async (request) => {
    const user = await callPart(guard, 'session', () => pages.session(request), isUserOrNothing)
    if (user === '') throw new PartError('pages.session() answered an empty text')
    if (user === undefined) return NOBODY
    // As one that a reverse proxy names.
    if (!isUserName(user)) throw new ServiceError('user_invalid')
    return { user, hasSession: false }
  }
}

function isUserOrNothing(answer: unknown): answer is string | undefined {
  return answer === undefined || typeof answer === 'string'
}
