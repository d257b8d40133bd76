import type { State } from '../../domain/commit-status.js'
import { isOwnerName } from '../../domain/repository-name.js'
import { ServiceError } from '../../errors.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi, Refused } from './api.js'
import { credentialsIn } from './credentials.js'
import {
  personObject,
  repositoryObject,
  statusObject,
  VERSION,
  type GiteaCombined,
  type GiteaRepository,
  type GiteaStatus,
  type GiteaUser,
} from './gitea-objects.js'
import { NOT_THERE, refRoutes } from './gitea-refs.js'
import { ALL, nameIn, nameOf, REPOSITORY, statusRoutes, type Filter, type Maker } from './github-like.js'
import { descending, newestFirst, type Facts } from './listing.js'
import { userOf, type Operations } from './operations.js'
import { jsonFields, reportShape } from './report-fields.js'

const PAGES = { parameter: 'limit', defaultSize: 30, maxSize: 50 }

/** A warning and a skipped check count as success in Gitea's own combined state. */
const STATES: ReadonlyMap<string, State> = new Map([
  ['pending', 'pending'],
  ['success', 'success'],
  ['failure', 'failure'],
  ['error', 'error'],
  ['warning', 'success'],
  ['skipped', 'success'],
])

const ORDERS: ReadonlyMap<string, (one: Facts, other: Facts) => number> = new Map([
  ['recentupdate', newestFirst],
  ['leastupdate', (one, other) => -newestFirst(one, other)],
  ['oldest', (one, other) => -descending(one.created_at, other.created_at)],
  ['leastindex', (one, other) => -descending(one.created_at, other.created_at)],
  ['highestindex', (one, other) => descending(one.created_at, other.created_at)],
])

/** The status calls of Gitea's and Forgejo's API, and what clients ask besides. */
export function gitea(operations: Operations): CompatibleApi {
  const maker: Maker<GiteaUser, GiteaStatus, GiteaRepository> = {
    name: 'gitea',
    pages: PAGES,
    shapeOf: (body) => {
      const fields = jsonFields(body)
      // Some send both, others what the answers call it.
      return reportShape(fields, STATES, { state: fields['state'] ? 'state' : 'status' })
    },
    filterOf,
    headersOf: (total) => ({ 'X-Total-Count': total }),
    person: personObject,
    status: statusObject,
    repository: async (call, { found, commit }, branch) =>
      repositoryObject(call, found, { branch, born: await operations.born(found), format: commit.format }),
    combined: (combined): GiteaCombined => combined,
  }

  const repository = async (call: Call): Promise<Answer> => {
    const found = await operations.repository(call, nameOf(call))
    const branch = await operations.defaultBranch(found)
    const [born, format] = [await operations.born(found), await operations.format(found)]
    return { status: 200, body: repositoryObject(call, found, { branch, born, format }) }
  }

  const person = (call: Call): Answer => {
    const login = String(call.params['login'])
    if (!isOwnerName(login)) throw new ServiceError('path_unknown', { text: NOT_THERE })
    return { status: 200, body: personObject(call, login) }
  }

  const settings = {
    max_response_items: PAGES.maxSize,
    default_paging_num: PAGES.defaultSize,
    default_git_trees_per_page: 1000,
    default_max_blob_size: 10_485_760,
  }

  return {
    mounts: MOUNTS.gitea,
    credentials: credentialsIn(),
    aboutOf: nameIn,
    headers: {},
    errorAnswer,
    routes: [
      ...statusRoutes(operations, maker),
      ...refRoutes(operations, PAGES),
      { method: 'GET', path: new RegExp(`${REPOSITORY}$`), operation: repository },
      { method: 'GET', path: /^\/version$/, operation: () => ({ status: 200, body: { version: VERSION } }) },
      {
        method: 'GET',
        path: /^\/user$/,
        operation: (call) => ({ status: 200, body: personObject(call, userOf(call)) }),
      },
      { method: 'GET', path: /^\/users\/(?<login>[^/]+)$/, operation: person },
      { method: 'GET', path: /^\/settings\/api$/, operation: () => ({ status: 200, body: settings }) },
    ],
  }
}

function filterOf(query: URLSearchParams): Filter {
  const [state, sort] = [query.get('state') ?? '', query.get('sort') ?? '']
  const [wanted, compare] = [STATES.get(state), ORDERS.get(sort)]
  if (!wanted && !compare) return ALL
  return {
    key: `${wanted ? state : ''} ${compare ? sort : ''}`,
    query: { ...(wanted && { state }), ...(compare && { sort }) },
    ...(wanted && { selects: (status) => status.state === wanted }),
    ...(compare && { compare }),
  }
}

function errorAnswer({ status, message }: ServiceError, { base }: Refused) {
  return { status, body: { message, url: `${base}/swagger` } }
}
