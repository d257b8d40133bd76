import { commitState, MAX_FAILED } from '../domain/commit-status.js'
import { ServiceError } from '../errors.js'
import type { Route } from '../http/surface.js'
import { parseRepositoryName } from '../domain/repository-name.js'
import { repositoryPath } from '../http/page-paths.js'
import { homePage, type HomeRow } from './home-page.js'
import { pageAnswer, redirect } from './html/layout.js'
import { frameOf, minuteNow, queryOf, type PageContext } from './context.js'
import type { ListedName } from './readable-repositories.js'
import { shellHints } from './shell-hints.js'
import { defaultBranch } from './default-branch.js'

/** Each takes a look at git, so there are few. */
const MAX_ROWS = 20

export function homeRoutes(pageContext: PageContext): readonly Route[] {
  const { base, repositories, address } = pageContext
  return [
    {
      name: 'page',
      method: 'GET',
      path: /^\/$/,
      operation: async (request) => {
        const frame = await frameOf(pageContext, request)
        const query = queryOf(request)
        const [text, after] = [(query.get('q') ?? '').trim().slice(0, 201), query.get('after') ?? '']
        const named = parseRepositoryName(text)
        if (!repositories && named) return redirect(base + repositoryPath(named))
        const { user } = frame.visitor
        const found = (await repositories?.find(user, { text, after, limit: MAX_ROWS })) ?? []
        const shown = found.slice(0, MAX_ROWS)
        const rows = await Promise.all(shown.map(async (listed) => await toRow(pageContext, user, listed)))
        const home = {
          base,
          now: minuteNow(pageContext),
          rows: rows.filter((row) => row !== undefined),
          text,
          hasMore: found.length > MAX_ROWS,
          service: address.of(request),
          ...shellHints(pageContext, request),
          isSignedIn: user !== undefined,
          hasLinks: pageContext.sessions !== undefined,
          hasTokens: pageContext.tokens !== undefined,
          isUnlisted: !repositories,
          isFirst: after === '',
        }
        return pageAnswer(frame, homePage(home))
      },
    },
  ]
}

/**
 * What cannot be determined of one repository must not keep the others from being shown.
 * @returns `undefined` where the caller may not read it: the list may be from before it was made private, or removed
 */
async function toRow(
  pageContext: PageContext,
  user: string | undefined,
  { name, public: isPublic }: ListedName,
): Promise<HomeRow | undefined> {
  const { lists, log, logger } = pageContext
  const nothing = { name, branch: undefined, commit: undefined }
  try {
    // The right on a private one was found just now.
    const rights = [{ repository: name.full, access: 'read' as const }]
    const found = await lists.find(isPublic || user === undefined ? {} : { user, rights }, name)
    const { repository } = found
    const { branch, start: commit } = await defaultBranch(pageContext, repository)
    if (!commit) return { name, branch, commit: undefined, state: commitState([]) }
    const { states } = await lists.statesOf(found, [commit.hex], () => MAX_FAILED)
    return { name, branch, commit: await log.one(repository, commit), state: states[commit.hex] }
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) return undefined
    logger.warn({ err: error, repository: name.full }, 'a repository is shown without its state')
    return { ...nothing, state: undefined }
  }
}
