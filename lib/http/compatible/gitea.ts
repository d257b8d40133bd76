import type { State } from '../../domain/commit-status.js'
import type { ServiceError } from '../../errors.js'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import { repositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi, Refused } from './api.js'
import { credentialsIn } from './credentials.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import { descending, newestFirst, type Facts, type ListForm, type Shown } from './listing.js'
import { nameNumber, reportNumber } from './numbers.js'
import { userOf, type Operations } from './operations.js'
import { pageLinks, pageOf } from './paging.js'
import { jsonFields, reportShape } from './report-fields.js'
import { refPath, toSecond } from './formats.js'

const PAGES = { parameter: 'limit', defaultSize: 30, maxSize: 50 }

/** Of the server whose API this is like: clients want 1.11 at least, and know other states from 1.25 on. */
const VERSION = '1.24.0'

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

const REPOSITORY = String.raw`^/repos/(?<owner>[^/]+)/(?<repo>[^/]+)`

/** The status calls of Gitea's and Forgejo's API, and what clients ask besides. */
export function gitea(operations: Operations): CompatibleApi {
  const nameOf = ({ params }: Call) => repositoryName(String(params['owner']), String(params['repo']))

  const report = async (call: Call): Promise<Answer> => {
    const sha = String(call.params['sha'])
    const shapeOf = (body: Buffer) => {
      const fields = jsonFields(body)
      // Some send both, others what the answers call it.
      return reportShape(fields, STATES, { state: fields['state'] ? 'state' : 'status' })
    }
    const { found, status } = await operations.report(call, nameOf(call), sha, shapeOf)
    return { status: 201, body: statusObject(call, found, status), reporter: status.reporter }
  }

  const list = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), ({ found }) => ({
      ...paging(call, found, 'statuses', filterOf(call)),
      body: ({ statuses }) => statuses.map((status) => statusObject(call, found, status)),
    }))

  const combined = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), async ({ found, commit }) => {
      const branch = await operations.defaultBranch(found)
      const repository = repositoryObject(call, found, branch)
      const { key, ...form } = paging(call, found, 'status', {})
      const commitUrl = `${repository.url}/commits/${commit.hex}`
      return {
        ...form,
        key: `${key} ${branch} ${found.access} ${found.repository.public}`,
        body: ({ state, statuses, total }) => ({
          state: state ?? 'pending',
          sha: commit.hex,
          total_count: total,
          statuses: statuses.map((status) => statusObject(call, found, status)),
          repository,
          commit_url: commitUrl,
          url: `${commitUrl}/status`,
        }),
      }
    })

  const repository = async (call: Call): Promise<Answer> => {
    const found = await operations.repository(call, nameOf(call))
    return { status: 200, body: repositoryObject(call, found, await operations.defaultBranch(found)) }
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
    headers: {},
    errorAnswer,
    routes: [
      { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/statuses$`), operation: list },
      { name: 'report', method: 'POST', path: new RegExp(`${REPOSITORY}/statuses/(?<sha>[^/]+)$`), operation: report },
      {
        name: 'list',
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/status$`),
        operation: combined,
      },
      { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/statuses/(?<ref>.+)$`), operation: list },
      { method: 'GET', path: new RegExp(`${REPOSITORY}$`), operation: repository },
      { method: 'GET', path: /^\/version$/, operation: () => ({ status: 200, body: { version: VERSION } }) },
      { method: 'GET', path: /^\/user$/, operation: (call) => ({ status: 200, body: personObject(userOf(call)) }) },
      { method: 'GET', path: /^\/settings\/api$/, operation: () => ({ status: 200, body: settings }) },
    ],
  }
}

/** What of a query changes which statuses are shown, and their order. */
function filterOf({ query }: Call): Record<string, string> {
  const [state, sort] = [query.get('state') ?? '', query.get('sort') ?? '']
  return { ...(STATES.has(state) && { state }), ...(ORDERS.has(sort) && { sort }) }
}

function paging(
  call: Call,
  found: VisibleRepository,
  last: 'status' | 'statuses',
  filter: Record<string, string>,
): Omit<ListForm, 'body'> {
  const page = pageOf(call.query, PAGES)
  const ref = String(call.params['ref'])
  const { state, sort = '' } = filter
  const [wanted, compare] = [state !== undefined && STATES.get(state), ORDERS.get(sort)]
  return {
    key: `gitea ${last} ${call.base} ${found.name.full} ${ref} ${String(state)} ${sort}`,
    page,
    ...(wanted && { selects: (status) => status.state === wanted }),
    ...(compare && { compare }),
    headers: ({ total }: Shown) => {
      const address = `${repositoryUrl(call, found)}/commits/${refPath(ref)}/${last}`
      const links = pageLinks(address, filter, PAGES, page, total)
      return { 'X-Total-Count': total, ...(links !== undefined && { Link: links }) }
    },
  }
}

function repositoryUrl({ base }: Pick<Call, 'base'>, { name }: VisibleRepository): string {
  return `${base}/repos/${name.full}`
}

function statusObject(call: Call, found: VisibleRepository, status: ReportedStatus): object {
  return {
    id: reportNumber(status),
    status: status.state,
    state: status.state,
    target_url: status.target_url ?? '',
    description: status.description ?? '',
    url: `${repositoryUrl(call, found)}/statuses/${status.sha}`,
    context: status.context,
    creator: status.reporter ? personObject(status.reporter.user) : null,
    created_at: toSecond(status.created_at),
    updated_at: toSecond(status.updated_at),
  }
}

function personObject(login: string): object {
  return { id: nameNumber(login), login, username: login, full_name: '', email: '', avatar_url: '' }
}

function repositoryObject(call: Call, found: VisibleRepository, branch: string) {
  const { name, repository, access } = found
  return {
    id: nameNumber(name.full),
    owner: personObject(name.owner),
    name: name.name,
    full_name: name.full,
    private: !repository.public,
    empty: false,
    url: repositoryUrl(call, found),
    html_url: `${call.root}/${name.full}`,
    default_branch: branch,
    permissions: { admin: false, push: access === 'write', pull: true },
  }
}

function errorAnswer({ status, message }: ServiceError, { base }: Refused) {
  return { status, body: { message, url: `${base}/swagger` } }
}
