import { catalogue, ServiceError } from '../../errors.js'
import { isOwnerName } from '../../domain/repository-name.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi, Refused } from './api.js'
import { credentialsIn } from './credentials.js'
import { nameIn, nameOf, REPOSITORY, statusRoutes } from './github-like.js'
import {
  commitObject,
  commitPlace,
  fullRepositoryObject,
  gitCommitObject,
  githubMaker,
  META,
  rootObject,
  userObject,
  VERSION,
} from './github-objects.js'
import { refRoutes } from './github-refs.js'
import { userOf, type Operations } from './operations.js'

/** The status calls of GitHub Enterprise Server's REST API, and what clients ask besides. */
export function github(operations: Operations): CompatibleApi {
  const repository = async (call: Call): Promise<Answer> => {
    const found = await operations.repository(call, nameOf(call))
    const branch = await operations.defaultBranch(found)
    return { status: 200, body: fullRepositoryObject(call, found, branch, await operations.born(found)) }
  }

  const commit =
    (form: typeof commitObject | typeof gitCommitObject) =>
    async (call: Call): Promise<Answer> => {
      const at = await operations.commit(call, nameOf(call), String(call.params['ref']))
      return { status: 200, body: form(commitPlace(call, at.found), at.commit.hex, await operations.content(at)) }
    }

  /** There are none here, which clients take for an answer. */
  const nothing =
    (member: string) =>
    async (call: Call): Promise<Answer> => {
      await operations.commit(call, nameOf(call), String(call.params['ref']))
      return { status: 200, body: { total_count: 0, [member]: [] } }
    }

  const user = (call: Call): Answer => ({ status: 200, body: userObject(call, userOf(call)) })

  const person = (call: Call): Answer => {
    const login = String(call.params['login'])
    if (!isOwnerName(login)) throw new ServiceError('path_unknown')
    return { status: 200, body: userObject(call, login) }
  }

  const rateLimit = (): never => {
    throw new ServiceError('path_unknown', { text: 'Rate limiting is not enabled.' })
  }

  return {
    mounts: MOUNTS.github,
    credentials: credentialsIn(),
    aboutOf: nameIn,
    headers: { 'X-GitHub-Media-Type': 'github.v3; format=json', 'X-GitHub-Enterprise-Version': VERSION },
    errorAnswer,
    routes: [
      ...statusRoutes(operations, githubMaker),
      ...refRoutes(operations.refs),
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
      { method: 'GET', path: /^\/meta$/, operation: () => ({ status: 200, body: META }) },
      { method: 'GET', path: /^\/?$/, operation: (call) => ({ status: 200, body: rootObject(call) }) },
    ],
  }
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
