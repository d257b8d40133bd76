import type { State } from '../../domain/commit-status.js'
import { catalogue, ServiceError } from '../../errors.js'
import { chain, type MaybePromise } from '../../concurrency/maybe-promise.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi } from './api.js'
import { credentialsIn } from './credentials.js'
import { creators, newestFirst, type ListForm, type Shown } from './listing.js'
import { commitObject, personObject, projectObject, statusObject, VERSION } from './gitlab-objects.js'
import { userOf, type Operations } from './operations.js'
import { pageOf } from './paging.js'
import { pageHeaders, PAGES, PROJECT, refRoutes } from './gitlab-refs.js'
import { fieldsOf, reportShape } from './report-fields.js'
import { refPath } from './formats.js'

const STATES: ReadonlyMap<string, State> = new Map([
  ['pending', 'pending'],
  ['running', 'pending'],
  ['success', 'success'],
  ['skipped', 'success'],
  ['failed', 'failure'],
  ['canceled', 'error'],
])

/** The status calls of GitLab's API, and what clients ask besides. */
export function gitlab(operations: Operations): CompatibleApi {
  const nameOf = (call: Call) => operations.named(call, String(call.params['id']))

  const report = async (call: Call): Promise<Answer> => {
    const shapeOf = (body: Buffer) => {
      const fields = fieldsOf(body, call.query)
      if (fields['sudo'] !== undefined) throw new ServiceError('sudo_denied') // 403
      return reportShape(fields, STATES, { context: fields['name'] ? 'name' : 'context' })
    }
    const { found, status } = await operations.report(call, await nameOf(call), String(call.params['sha']), shapeOf)
    const author = creators((username) => personObject(call, username))(status)
    const body = statusObject(status, await operations.defaultBranch(found), author)
    return { status: 201, body, reporter: status.reporter }
  }

  const list = (call: Call): MaybePromise<Answer> =>
    chain(nameOf(call), (name) =>
      operations.list(call, name, String(call.params['ref']), ({ found }) =>
        chain(operations.defaultBranch(found), (branch) => {
          const body = ({ statuses }: Shown) => {
            const authorOf = creators((username) => personObject(call, username))
            return statuses.map((status) => statusObject(status, branch, authorOf(status)))
          }
          return { ...paging(call, found, branch), body }
        }),
      ),
    )

  const project = async (call: Call): Promise<Answer> => {
    const found = await operations.repository(call, await nameOf(call))
    const id = operations.numberOf(found)
    const [branch, born] = [await operations.defaultBranch(found), await operations.born(found)]
    return { status: 200, body: projectObject(call, found, { id, branch, born }) }
  }

  const commit = async (call: Call): Promise<Answer> => {
    const at = await operations.reported(call, await nameOf(call), String(call.params['ref']))
    const [content, branch] = [await operations.content(at), await operations.defaultBranch(at.found)]
    const lines = await operations.lines(at, content)
    const { span, commit } = at
    return { status: 200, body: commitObject(call, at.found, content, { sha: commit.hex, branch, span, lines }) }
  }

  const user = (call: Call): Answer => ({ status: 200, body: personObject(call, userOf(call)) })

  const version = (call: Call): Answer => {
    userOf(call)
    return { status: 200, body: VERSION }
  }

  return {
    mounts: MOUNTS.gitlab,
    credentials: credentialsIn('private-token', 'job-token'),
    aboutOf: ({ id = '' }) => operations.mayMean(id),
    // One of the clients wants it without a charset.
    headers: { 'Content-Type': 'application/json' },
    errorAnswer,
    routes: [
      {
        name: 'list',
        method: 'GET',
        path: new RegExp(`${PROJECT}/repository/commits/(?<ref>.+)/statuses$`),
        operation: list,
      },
      { name: 'report', method: 'POST', path: new RegExp(`${PROJECT}/statuses/(?<sha>[^/]+)$`), operation: report },
      { method: 'GET', path: new RegExp(`${PROJECT}/repository/commits/(?<ref>.+)$`), operation: commit },
      ...refRoutes(operations, nameOf),
      { method: 'GET', path: new RegExp(`${PROJECT}$`), operation: project },
      { method: 'GET', path: /^\/user$/, operation: user },
      { method: 'GET', path: /^\/(?:version|metadata)$/, operation: version },
    ],
  }
}

function paging({ params, query, base }: Call, { name }: VisibleRepository, branch: string): Omit<ListForm, 'body'> {
  const page = pageOf(query, PAGES)
  const ref = String(params['ref'])
  const [only, sort] = [query.get('name') ?? '', query.get('sort') === 'asc' ? 'asc' : '']
  const filter = { ...(only !== '' && { name: only }), ...(sort !== '' && { sort }) }
  return {
    key: `gitlab ${base} ${name.full} ${ref} ${sort} ${only} ${branch}`,
    page,
    ...(only !== '' && { selects: ({ context }) => context === only }),
    ...(sort !== '' && { compare: (one, other) => -newestFirst(one, other) }),
    headers: ({ total }) => {
      const commits = `${base}/projects/${encodeURIComponent(name.full)}/repository/commits`
      return pageHeaders(`${commits}/${refPath(ref)}/statuses`, filter, page, total)
    },
  }
}

function errorAnswer({ code, status: ours, message: text }: ServiceError) {
  const status = ours === 422 ? 400 : ours
  const states = [...STATES.keys()].join(', ')
  const said: Partial<Record<ServiceError['code'], string>> = {
    credentials_missing: 'Unauthorized',
    credentials_wrong: 'Unauthorized',
    repository_not_found: 'Project Not Found',
    commit_not_found: 'Commit Not Found',
    path_unknown: text === catalogue.path_unknown.text ? 'Not Found' : text,
    state_invalid: `Bad request - state must be one of ${states}`,
  }
  const reason = said[code] ?? (status === 400 ? `Bad request - ${text}` : text)
  return { status, body: { message: `${status} ${reason}` } }
}
