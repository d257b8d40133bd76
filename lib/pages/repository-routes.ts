import { type CommitStates, MAX_STATES } from '../commit-status.js'
import { ServiceError } from '../errors.js'
import type { Route } from '../http/room.js'
import type { Repository } from '../parts/repositories.js'
import { repositoryName } from '../repository-name.js'
import type { ObjectId } from '../object-id.js'
import { pageAnswer } from './page.js'
import { callerOf, frameOf, queryOf, skipOf, type PagesParts } from './parts.js'
import { placesOf } from './places.js'
import { MAX_COMMITS, repositoryPage } from './repository-page.js'

export function repositoryRoutes(parts: PagesParts): readonly Route[] {
  const { base, service, refs, log, address } = parts
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
        const [branches, defaultBranch] = await Promise.all([log.branches(repository), refs.defaultBranch(repository)])
        const { ref, start } = await startOf(parts, repository, asked, defaultBranch, branches)
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
 * The commit that a ref names; for none, the default branch's, or where that has none yet, the first branch's.
 * @returns without a commit where there is none at all
 * @throws ServiceError for a ref that is not there
 */
async function startOf(
  { refs, service }: PagesParts,
  repository: Repository,
  asked: string,
  defaultBranch: string | undefined,
  [first]: readonly string[],
): Promise<{ ref: string; start?: ObjectId }> {
  const candidates =
    asked === ''
      ? [
          ['HEAD', defaultBranch],
          ['refs/heads/' + String(first), first],
        ]
      : [[asked, asked]]
  for (const [name = '', shown = name] of candidates) {
    const start = await refs.resolve(repository, name)
    if (start && (await service.hasCommit(repository, start))) return { ref: shown, start }
  }
  if (asked === '') return { ref: defaultBranch ?? 'HEAD' }
  throw new ServiceError('path_unknown', { text: 'branch or tag not found' })
}
