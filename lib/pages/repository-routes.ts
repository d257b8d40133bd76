import { type CommitStates, MAX_FAILED, MAX_STATES } from '../domain/commit-status.js'
import { ServiceError } from '../errors.js'
import type { Route } from '../http/surface.js'
import type { Repository } from '../contracts/repositories.js'
import type { ObjectId } from '../domain/object-id.js'
import { repositoryPath, repositoryPattern } from '../http/page-paths.js'
import { pageAnswer, redirect } from './html/layout.js'
import { callerOf, frameOf, minuteNow, queryOf, repositoryOf, skipOf, type PageContext } from './context.js'
import { branchesPage } from './branches-page.js'
import { shellHints } from './shell-hints.js'
import { MAX_COMMITS, repositoryPage } from './repository-page.js'
import { defaultBranch } from './default-branch.js'

export function repositoryRoutes(pageContext: PageContext): readonly Route[] {
  const { base, lists, log, refLists, address, hooks } = pageContext
  return [
    {
      name: 'page',
      method: 'GET',
      path: repositoryPattern(),
      operation: async (request) => {
        const frame = await frameOf(pageContext, request)
        const caller = callerOf(frame)
        const asked = repositoryOf(request)
        // Links on the page are read from its address.
        if (asked?.name.includes('/') && repositoryPath(asked) !== request.path)
          return redirect(base + repositoryPath(asked) + request.search)
        const found = await lists.find(caller, asked, hooks ? 'write' : 'read')
        const { name, repository, access } = found
        const query = queryOf(request)
        const skip = skipOf(query)
        const askedRef = query.get('ref') ?? ''
        const [branches, { ref, start }] = await Promise.all([
          refLists.branches(repository),
          startOf(pageContext, repository, askedRef),
        ])
        const commits = start ? await log.list(repository, start, { skip, limit: MAX_COMMITS + 1 }) : []
        const shown = commits.slice(0, MAX_COMMITS)
        const shas = shown.map(({ sha }) => sha).slice(0, MAX_STATES)
        const { states }: CommitStates =
          shas.length === 0 ? { states: {} } : await lists.statesOf(found, shas, () => MAX_FAILED)
        const page = repositoryPage({
          base,
          name,
          ...(repository.path !== undefined && { path: repository.path }),
          now: minuteNow(pageContext),
          ref,
          isEmpty: !start,
          branches,
          commits: shown,
          states,
          skip,
          hasMore: commits.length > MAX_COMMITS,
          origin: address.origin(request),
          hasWebhooks: hooks !== undefined && access === 'write',
          ...shellHints(pageContext, request),
        })
        return pageAnswer(frame, page)
      },
    },
    {
      name: 'page',
      method: 'GET',
      path: repositoryPattern('/branches'),
      operation: async (request) => {
        const frame = await frameOf(pageContext, request)
        const caller = callerOf(frame)
        const found = await lists.find(caller, repositoryOf(request))
        const { name, repository } = found
        const branches = await refLists.branches(repository)
        const shas = branches.map(({ sha }) => sha)
        const { states }: CommitStates =
          shas.length === 0 ? { states: {} } : await lists.statesOf(found, shas, () => MAX_FAILED)
        return pageAnswer(frame, branchesPage({ base, name, branches, states }))
      },
    },
  ]
}

/**
 * The commit that a ref names; for none, that of the branch that is shown then.
 * @returns without a commit where there is none at all
 * @throws ServiceError for a ref that is not there
 */
async function startOf(
  pageContext: PageContext,
  repository: Repository,
  asked: string,
): Promise<{ ref: string; start?: ObjectId }> {
  if (asked === '') {
    const { branch: ref = 'HEAD', ...shown } = await defaultBranch(pageContext, repository)
    return { ref, ...shown }
  }
  const start = await pageContext.refs.resolve(repository, asked)
  if (start && (await pageContext.lists.hasCommit(repository, start))) return { ref: asked, start }
  throw new ServiceError('path_unknown', { text: 'branch or tag not found' })
}
