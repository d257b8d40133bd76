import type { State } from '../domain/commit-status.js'
import { ServiceError } from '../errors.js'
import { digestOf } from '../http/digest.js'
import type { Route } from '../http/surface.js'
import type { ObjectId } from '../domain/object-id.js'
import { parseObjectId } from '../domain/object-id.js'
import type { VisibleRepository } from '../service/repository-access.js'
import { repositoryPattern } from '../http/page-paths.js'
import { badgeImage } from './badge.js'
import { callerOf, frameOf, queryOf, repositoryOf, type PageContext } from './context.js'
import { defaultBranch } from './default-branch.js'

/** How far back a settled commit is looked for. */
const MAX_COMMITS = 50

/** No context is longer. */
const MAX_CONTEXT = 255

export function badgeRoutes(pageContext: PageContext): readonly Route[] {
  const { lists, refs } = pageContext
  return [
    {
      name: 'page',
      method: 'GET',
      path: repositoryPattern(String.raw`/badge\.svg`),
      operation: async (request) => {
        const caller = callerOf(await frameOf(pageContext, request))
        const found = await lists.find(caller, repositoryOf(request))
        const query = queryOf(request)
        const context = query.get('context') ?? undefined
        if (context !== undefined && Array.from(context).length > MAX_CONTEXT) throw new ServiceError('path_unknown')
        const ref = query.get('ref') ?? ''
        const named = ref === '' ? undefined : await refs.resolve(found.repository, ref)
        const isThere = named && (await lists.hasCommit(found.repository, named))
        const start =
          ref === '' ? (await defaultBranch(pageContext, found.repository)).start : isThere ? named : undefined
        const look = new BadgeState(pageContext, found, context)
        const state = !start ? null : await (query.has('settled') ? look.settled(start) : look.state(start))
        // An image all the same: in the pages that show it an error would be a broken picture.
        const body = await badgeImage(context ?? 'checks', ref !== '' && !start ? 'gone' : state)
        return {
          status: 200,
          body,
          digest: digestOf(body),
          headers: {
            'Content-Type': 'image/svg+xml; charset=utf-8',
            'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
            // Proxies of images keep them for as long as they may.
            'Cache-Control': found.repository.public ? 'public, max-age=60, s-maxage=60' : 'private, no-cache',
          },
        }
      },
    },
  ]
}

/** What a badge is to show of a repository. */
class BadgeState {
  readonly #pageContext: PageContext
  readonly #found: VisibleRepository
  readonly #context: string | undefined

  constructor(pageContext: PageContext, found: VisibleRepository, context: string | undefined) {
    this.#pageContext = pageContext
    this.#found = found
    this.#context = context
  }

  /** Of a commit, or of its one context. */
  async state(commit: ObjectId): Promise<State | null> {
    const { lists } = this.#pageContext
    const found = this.#found
    if (this.#context === undefined)
      return (await lists.statesOf(found, [commit.hex])).states[commit.hex]?.state ?? null
    return (await lists.status({ found, commit }, this.#context))?.state ?? null
  }

  /** Of the latest commit that is not pending, nor without a status. */
  async settled(start: ObjectId): Promise<State | null> {
    const { log, lists } = this.#pageContext
    const commits = await log.list(this.#found.repository, start, { skip: 0, limit: MAX_COMMITS })
    const shas = commits.map(({ sha }) => sha)
    const { states } = await lists.statesOf(this.#found, shas)
    for (const sha of shas) {
      const known = states[sha]
      // What has no status at all has none of the context.
      if (!known || known.statuses === 0) continue
      const commit = this.#context === undefined ? undefined : parseObjectId(sha)
      const state = commit ? await this.state(commit) : known.state
      if (state !== null && state !== 'pending') return state
    }
    return null
  }
}
