import { type CommitStates, MAX_STATES } from '../domain/commit-status.js'
import { ServiceError } from '../errors.js'
import type { Route } from '../http/surface.js'
import type { Repository } from '../contracts/repositories.js'
import { repositoryName } from '../domain/repository-name.js'
import type { ObjectId } from '../domain/object-id.js'
import { pageAnswer } from './html/layout.js'
import { callerOf, frameOf, queryOf, skipOf, type PagesParts } from './parts.js'
import { placesOf } from './places.js'
import { MAX_COMMITS, repositoryPage } from './repository-page.js'
import { shownBranch } from './shown-branch.js'

export function repositoryRoutes(parts: PagesParts): readonly Route[] {
  const { base, service, log, address } = parts
  return [
    {
      name: 'page',
      method: 'GET',
      path: /^\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)$/,
      operation: async (request) => {
        const frame = await frameOf(parts, request)
        const caller = callerOf(frame)
        const { owner = '', repo = '' } = request.params
        const { name, repository } = await service.find(caller, repositoryName(owner, repo))
        const query = queryOf(request)
        const skip = skipOf(query)
        const asked = query.get('ref') ?? ''
        const [branches, { ref, start }] = await Promise.all([
          log.branches(repository),
          startOf(parts, repository, asked),
        ])
        const commits = start ? await log.list(repository, start, { skip, limit: MAX_COMMITS + 1 }) : []
        const shown = commits.slice(0, MAX_COMMITS)
        const shas = shown.map(({ sha }) => sha).slice(0, MAX_STATES)
        const { states }: CommitStates = shas.length === 0 ? { states: {} } : await service.states(caller, name, shas)
        const page = repositoryPage({
          base,
          name,
          ref,
          isEmpty: !start,
          branches,
          commits: shown,
          states,
          skip,
          hasMore: commits.length > MAX_COMMITS,
          origin: address.origin(request),
          ...placesOf(parts, request),
        })
        return pageAnswer(frame, page)
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
  parts: PagesParts,
  repository: Repository,
  asked: string,
): Promise<{ ref: string; start?: ObjectId }> {
  if (asked === '') {
    const { branch: ref = 'HEAD', ...shown } = await shownBranch(parts, repository)
    return { ref, ...shown }
  }
  const start = await parts.refs.resolve(repository, asked)
  if (start && (await parts.service.hasCommit(repository, start))) return { ref: asked, start }
  throw new ServiceError('path_unknown', { text: 'branch or tag not found' })
}
