import { STATES, type State } from '../../domain/commit-status.js'
import { catalogue, ServiceError } from '../../errors.js'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import { isOwnerName, repositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { LocatedCommit } from '../../service/status-lists.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi, Refused } from './api.js'
import { credentialsIn } from './credentials.js'
import {
  commitObject,
  gitCommitObject,
  personObject,
  repositoryObject,
  repositoryUrl,
  statusObject,
} from './github-objects.js'
import type { ListForm, Shown } from './listing.js'
import { userOf, type Operations } from './operations.js'
import { pageLinks, pageOf } from './paging.js'
import { jsonFields, reportShape } from './report-fields.js'
import { refPath } from './formats.js'

const PAGES = { parameter: 'per_page', defaultSize: 30, maxSize: 100 }

const STATES_BY_NAME: ReadonlyMap<string, State> = new Map(STATES.map((state) => [state, state]))

const REPOSITORY = String.raw`^/repos/(?<owner>[^/]+)/(?<repo>[^/]+)`

/** The status calls of GitHub Enterprise Server's REST API, and what clients ask besides. */
export function github(operations: Operations): CompatibleApi {
  const nameOf = ({ params }: Call) => repositoryName(String(params['owner']), String(params['repo']))

  const report = async (call: Call): Promise<Answer> => {
    const sha = String(call.params['sha'])
    const shapeOf = (body: Buffer) => reportShape(jsonFields(body), STATES_BY_NAME)
    const { found, status } = await operations.report(call, nameOf(call), sha, shapeOf)
    const body = statusObject(call, found, status)
    return { status: 201, body, headers: { Location: body.url }, reporter: status.reporter }
  }

  const list = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), ({ found }) => ({
      ...paging(call, found, 'statuses'),
      body: ({ statuses }) => statuses.map((status) => statusObject(call, found, status)),
    }))

  const combined = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), async ({ found, commit }) => {
      const branch = await operations.defaultBranch(found)
      const repository = repositoryObject(call, found, branch)
      const { key, ...form } = paging(call, found, 'status')
      const commitUrl = `${repository.url}/commits/${commit.hex}`
      return {
        ...form,
        key: `${key} ${branch} ${found.access} ${found.repository.public}`,
        body: ({ state, statuses, total }) => ({
          state: state ?? 'pending',
          statuses: statuses.map((status) => statusObject(call, found, status)),
          sha: commit.hex,
          total_count: total,
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

  const commit =
    (form: typeof commitObject) =>
    async (call: Call): Promise<Answer> => {
      const at: LocatedCommit = await operations.commit(call, nameOf(call), String(call.params['ref']))
      return { status: 200, body: form(repositoryUrl(call, at.found), at.commit.hex, await operations.content(at)) }
    }

  /** There are none here, which clients take for an answer. */
  const nothing =
    (member: string) =>
    async (call: Call): Promise<Answer> => {
      await operations.commit(call, nameOf(call), String(call.params['ref']))
      return { status: 200, body: { total_count: 0, [member]: [] } }
    }

  const user = (call: Call): Answer => ({
    status: 200,
    body: { ...personObject(call, userOf(call)), name: null, email: null },
  })

  const person = (call: Call): Answer => {
    const login = String(call.params['login'])
    if (!isOwnerName(login)) throw new ServiceError('path_unknown')
    return { status: 200, body: personObject(call, login) }
  }

  const root = ({ base }: Call): Answer => ({
    status: 200,
    body: {
      current_user_url: `${base}/user`,
      rate_limit_url: `${base}/rate_limit`,
      repository_url: `${base}/repos/{owner}/{repo}`,
      user_url: `${base}/users/{user}`,
    },
  })

  const rateLimit = (): never => {
    throw new ServiceError('path_unknown', { text: 'Rate limiting is not enabled.' })
  }

  return {
    mounts: MOUNTS.github,
    credentials: credentialsIn(),
    headers: { 'X-GitHub-Media-Type': 'github.v3; format=json', 'X-GitHub-Enterprise-Version': VERSION },
    errorAnswer,
    routes: [
      { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/statuses$`), operation: list },
      {
        name: 'report',
        method: 'POST',
        path: new RegExp(`${REPOSITORY}/statuses/(?<sha>[^/]+)$`),
        operation: report,
        missingCommit: 422,
      },
      {
        name: 'list',
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/status$`),
        operation: combined,
      },
      { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/statuses/(?<ref>.+)$`), operation: list },
      { method: 'GET', path: new RegExp(`${REPOSITORY}$`), operation: repository },
      {
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/check-runs$`),
        operation: nothing('check_runs'),
      },
      {
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/check-suites$`),
        operation: nothing('check_suites'),
      },
      {
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)$`),
        operation: commit(commitObject),
        missingCommit: 422,
      },
      {
        method: 'GET',
        path: new RegExp(`${REPOSITORY}/git/commits/(?<ref>[^/]+)$`),
        operation: commit(gitCommitObject),
      },
      { method: 'GET', path: /^\/user$/, operation: user },
      { method: 'GET', path: /^\/users\/(?<login>[^/]+)$/, operation: person },
      { method: 'GET', path: /^\/rate_limit$/, operation: rateLimit },
      { method: 'GET', path: /^\/meta$/, operation: () => ({ status: 200, body: { installed_version: VERSION } }) },
      { method: 'GET', path: /^\/?$/, operation: root },
    ],
  }
}

/** Of the server whose API this is like. */
const VERSION = '3.14.0'

function paging(call: Call, found: VisibleRepository, last: 'status' | 'statuses'): Omit<ListForm, 'body'> {
  const page = pageOf(call.query, PAGES)
  const ref = String(call.params['ref'])
  const headers = ({ total }: Shown) => {
    const address = `${repositoryUrl(call, found)}/commits/${refPath(ref)}/${last}`
    const links = pageLinks(address, {}, PAGES, page, total)
    return links === undefined ? {} : { Link: links }
  }
  return { key: `github ${last} ${call.base} ${found.name.full} ${ref}`, page, headers }
}

/** Our words are the client's where nobody relies on GitHub's. */
function errorAnswer(error: ServiceError, { route, params }: Refused) {
  const { sha = String(params['ref']) } = params
  let { status } = error
  // A text that is not the catalogue's says more than any other.
  const isUsual = error.message === catalogue[error.code].text
  let message = error.status === 404 && !isUsual ? error.message : (MESSAGES[error.code] ?? error.message)
  if (error.code === 'commit_not_found') {
    status = route?.missingCommit ?? 404
    message = status === 422 ? `No commit found for SHA: ${sha.slice(0, 100)}` : 'Not Found'
  }
  const field = FIELDS[error.code] ?? (error.code === 'field_invalid' ? error.message.replace(/ .*/s, '') : undefined)
  const errors = field !== undefined && [{ resource: 'Status', code: 'custom', field, message: error.message }]
  return {
    status,
    body: {
      message,
      ...(errors && { errors }),
      documentation_url: 'https://docs.github.com/rest',
      status: String(status),
    },
  }
}

const FIELDS: Partial<Record<ServiceError['code'], string>> = {
  state_invalid: 'state',
  sha_invalid: 'sha',
  too_many_contexts: 'context',
}

const MESSAGES: Partial<Record<ServiceError['code'], string>> = {
  credentials_missing: 'Requires authentication',
  credentials_wrong: 'Bad credentials',
  repository_not_found: 'Not Found',
  path_unknown: 'Not Found',
  invalid_body: 'Problems parsing JSON',
  state_invalid: 'Validation Failed',
  field_invalid: 'Validation Failed',
  sha_invalid: 'Validation Failed',
  too_many_contexts: 'Validation Failed',
}
