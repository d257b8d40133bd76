import { LRUCache } from 'lru-cache'
import { closing } from '../concurrency/maybe-promise.js'
import type { Answer } from '../http/exchange.js'
import type { Request, Route } from '../http/surface.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import type { Repository } from '../contracts/repositories.js'
import { defaultBranch } from './default-branch.js'
import { leadOn } from './commit-name.js'
import { commitAddress } from './commit-url.js'
import { LARGE_LIST_BYTES } from '../domain/status-list.js'
import { repositoryPattern } from '../http/page-paths.js'
import { commitFragment, commitPage, type CommitView } from './commit-page.js'
import { partOfList, wholeList } from './status-summary.js'
import { htmlAnswer, pageAnswer, type PageFrame } from './html/layout.js'
import { callerOf, frameOf, minuteNow, queryOf, repositoryOf, skipOf, type PageContext } from './context.js'

/** About what a page that is remembered takes in memory besides its bytes. */
const PAGE_BYTES = 1000

/** Seconds after which a page with something pending is loaded anew. */
const RELOAD_SECONDS = 10

export function commitRoutes(pageContext: PageContext): readonly Route[] {
  const { base, lists, log, address, logger } = pageContext
  // Many look at a commit that has just been pushed.
  const known = new LRUCache<string, Answer>({
    maxSize: pageContext.shares.pages,
    /* c8 ignore next -- pages are buffers */
    sizeCalculation: ({ body }, key) => PAGE_BYTES + 2 * key.length + (Buffer.isBuffer(body) ? body.length : 0),
  })
  pageContext.meter.cacheSize('pages', () => known.calculatedSize)

  const answer = async (
    request: Request,
    kind: string,
    make: (view: CommitView, frame: PageFrame) => Answer,
  ): Promise<Answer> => {
    const frame = await frameOf(pageContext, request)
    const { sha = '' } = request.params
    const [caller, name, id] = [callerOf(frame), repositoryOf(request), parseObjectId(sha)]
    if (!id) {
      const rest = `${kind === 'page' ? '' : `/${kind}`}${request.search}`
      return await leadOn(pageContext, frame, await lists.find(caller, name), { name: sha, rest })
    }
    const read = await lists.list(caller, name, () => id)
    const { found, commit, list } = read
    const look = await closing(list, async () => {
      const query = queryOf(request)
      const now = minuteNow(pageContext)
      const form = { now, skip: skipOf(query), isReloading: query.get('reload') !== 'off' }
      const at = { origin: address.origin(request), service: address.of(request) }
      const { user = '', hasSession } = frame.visitor
      const { directory, identity } = found.repository
      const place = [kind, directory, identity, found.name.full, commit.hex, list.digest]
      // A fragment shows no time.
      const key = [
        ...place,
        kind === 'page' && now,
        form.skip,
        form.isReloading,
        at.origin,
        at.service,
        user,
        hasSession,
      ].join('\n')
      const remembered = identity === undefined ? undefined : known.get(key)
      if (remembered) return remembered
      // With who reported, which the list that is sent does not say.
      const shown = list.length > LARGE_LIST_BYTES ? await partOfList(list) : wholeList(await lists.storedList(read))
      return { key, ...form, ...at, ...shown }
    })
    if ('status' in look) return look
    const { key, ...shown } = look
    const [logged, children] = await Promise.all([
      // Without git the statuses are shown all the same.
      log.one(found.repository, commit).catch((error: unknown) => {
        logger.warn({ err: error, repository: found.name.full }, 'a commit is shown without what it says')
        return undefined
      }),
      kind === 'page' ? childrenOf(pageContext, found.repository, commit) : [],
    ])
    const { commitUrl } = pageContext
    const view = {
      base,
      children,
      address: commitUrl === undefined ? undefined : commitAddress(commitUrl, found, commit.hex),
      name: found.name,
      sha: commit.hex,
      commit: logged,
      ...shown,
    }
    const made = make(view, frame)
    if (logged) known.set(key, made)
    return made
  }

  return [
    {
      name: 'page',
      method: 'GET',
      path: repositoryPattern('/commits/(?<sha>[^/]+)/fragment'),
      operation: async (request) => await answer(request, 'fragment', (view) => htmlAnswer(commitFragment(view))),
    },
    {
      name: 'page',
      method: 'GET',
      // A branch may have slashes in its name. Of a path that two routes know, the last would say what is in it.
      path: repositoryPattern('/commits/(?<sha>(?![^/]+/fragment$)[^/]+(?:/[^/]+)*)'),
      operation: async (request) =>
        await answer(request, 'page', (view, frame) => {
          const reloads = view.isReloading && view.counts.pending > 0
          return pageAnswer(frame, commitPage(view), reloads ? { Refresh: String(RELOAD_SECONDS) } : {})
        }),
    },
  ]
}

/** The next commits on the default branch, where they are told at once: the page is good without. */
async function childrenOf(
  pageContext: PageContext,
  repository: Repository,
  commit: ObjectId,
): Promise<readonly string[]> {
  try {
    const { start } = await defaultBranch(pageContext, repository)
    return start ? await pageContext.log.childrenOf(repository, start, commit) : []
  } catch {
    return []
  }
}
