import type { State } from '../../domain/commit-status.js'
import { ServiceError } from '../../errors.js'
import { chain, type MaybePromise } from '../../concurrency/maybe-promise.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { MOUNTS } from '../api-paths.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleApi } from './api.js'
import { credentialsIn } from './credentials.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import { newestFirst, type ListForm, type Shown } from './listing.js'
import { nameNumber, statusNumber } from './numbers.js'
import { userOf, type Operations } from './operations.js'
import { lastPage, pageLinks, pageOf } from './paging.js'
import { fieldsOf, reportShape } from './report-fields.js'
import { refPath, segment, timeOf } from './formats.js'

const PAGES = { parameter: 'per_page', defaultSize: 20, maxSize: 100 }

/** Of the server whose API this is like. */
const VERSION = { version: '17.0.0', revision: 'commit-status' }

const STATES: ReadonlyMap<string, State> = new Map([
  ['pending', 'pending'],
  ['running', 'pending'],
  ['success', 'success'],
  ['skipped', 'success'],
  ['failed', 'failure'],
  ['canceled', 'error'],
])

/** What an error was here: no client may take it for anything but a failure. */
const SHOWN_STATES: Readonly<Record<State, string>> = {
  pending: 'pending',
  success: 'success',
  failure: 'failed',
  error: 'failed',
}

const PROJECT = '^/projects/(?<id>[^/]+)'

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
    const body = statusObject(call, status, await operations.defaultBranch(found))
    return { status: 201, body, reporter: status.reporter }
  }

  const list = (call: Call): MaybePromise<Answer> =>
    chain(nameOf(call), (name) =>
      operations.list(call, name, String(call.params['ref']), ({ found }) =>
        chain(operations.defaultBranch(found), (branch) => {
          const body = ({ statuses }: Shown) => statuses.map((status) => statusObject(call, status, branch))
          return { ...paging(call, found, branch), body }
        }),
      ),
    )

  const project = async (call: Call): Promise<Answer> => {
    const found = await operations.repository(call, await nameOf(call))
    const id = operations.numberOf(found)
    return { status: 200, body: projectObject(call, found, id, await operations.defaultBranch(found)) }
  }

  const commit = async (call: Call): Promise<Answer> => {
    const at = await operations.commit(call, await nameOf(call), String(call.params['ref']))
    const { author, committer, parents, message } = await operations.content(at)
    const { hex } = at.commit
    const body = {
      id: hex,
      short_id: hex.slice(0, 8),
      title: message.replace(/\n.*/s, ''),
      message,
      author_name: author.name,
      author_email: author.email,
      authored_date: timeOf(author.seconds),
      committer_name: committer.name,
      committer_email: committer.email,
      committed_date: timeOf(committer.seconds),
      created_at: timeOf(committer.seconds),
      parent_ids: parents,
      web_url: `${call.root}/${at.found.name.full}/-/commit/${hex}`,
      status: null,
      last_pipeline: null,
    }
    return { status: 200, body }
  }

  const user = (call: Call): Answer => ({ status: 200, body: personObject(call, userOf(call)) })

  const version = (call: Call): Answer => {
    userOf(call)
    return { status: 200, body: VERSION }
  }

  return {
    mounts: MOUNTS.gitlab,
    credentials: credentialsIn('private-token', 'job-token'),
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
      const last = lastPage(page, total)
      const commits = `${base}/projects/${encodeURIComponent(name.full)}/repository/commits`
      const address = `${commits}/${refPath(ref)}/statuses`
      const links = pageLinks(address, filter, PAGES, page, total)
      return {
        'X-Total': total,
        'X-Total-Pages': last,
        'X-Page': page.number,
        'X-Per-Page': page.size,
        'X-Next-Page': page.number < last ? page.number + 1 : '',
        'X-Prev-Page': page.number > 1 ? Math.min(page.number - 1, last) : '',
        ...(links !== undefined && { Link: links }),
      }
    },
  }
}

function statusObject(call: Call, status: ReportedStatus, branch: string): object {
  return {
    id: statusNumber(status),
    sha: status.sha,
    ref: branch,
    status: SHOWN_STATES[status.state],
    name: status.context,
    target_url: status.target_url,
    description: status.description,
    created_at: status.created_at,
    started_at: null,
    finished_at: status.state === 'pending' ? null : status.updated_at,
    allow_failure: false,
    coverage: null,
    pipeline_id: nameNumber(status.sha),
    author: status.reporter ? personObject(call, status.reporter.user) : null,
  }
}

function personObject({ root }: Call, username: string): object {
  return {
    id: nameNumber(username),
    username,
    name: username,
    state: 'active',
    avatar_url: null,
    web_url: `${root}/${segment(username)}`,
  }
}

function projectObject({ root }: Call, { name, repository, access }: VisibleRepository, id: number, branch: string) {
  return {
    id,
    name: name.name,
    path: name.name,
    path_with_namespace: name.full,
    default_branch: branch,
    visibility: repository.public ? 'public' : 'private',
    web_url: `${root}/${name.full}`,
    permissions: { project_access: { access_level: access === 'write' ? 40 : 20 }, group_access: null },
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
    path_unknown: 'Not Found',
    state_invalid: `Bad request - state must be one of ${states}`,
  }
  const reason = said[code] ?? (status === 400 ? `Bad request - ${text}` : text)
  return { status, body: { message: `${status} ${reason}` } }
}
