import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { MAX_FAILED, toApiStatus } from '../../domain/commit-status.js'
import { repositoryName, type RepositoryName } from '../../domain/repository-name.js'
import { parseVerdictQuery } from '../../domain/verdict/rule.js'
import { ServiceError } from '../../errors.js'
import type { InFlight } from '../../service/in-flight.js'
import type { Caller } from '../../service/repository-access.js'
import { fullCommitId, type LocatedList, type StatusLists } from '../../service/status-lists.js'
import type { PushReports } from '../../service/push-reports.js'
import type { StatusReports } from '../../service/status-reports.js'
import type { Authentication } from '../authentication.js'
import { readJson, receiveReport } from '../body.js'
import { digestOf } from '../digest.js'
import type { EventStreams } from '../event-stream.js'
import { errorAnswer, jsonBytes, listAnswer, type Answer } from '../exchange.js'
import { originForm, queryOf } from '../request-target.js'
import type { Operation, Request, Route, Surface } from '../surface.js'

export interface ApiDependencies {
  readonly lists: StatusLists
  readonly reports: StatusReports
  /** Absent where nobody is told of pushes. */
  readonly pushes: PushReports | undefined
  readonly authentication: Authentication
  readonly inFlight: InFlight
  readonly eventStreams: EventStreams
  /** `undefined` when the service accepts reports, else the reason. */
  readonly unavailableReason: () => string | undefined
}

/** The API as OpenAPI 3.1; its answer is without the white space of the file. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- a file of ours, which a spec looks into
const openApi = JSON.parse(readFileSync(new URL('./openapi.json', import.meta.url), 'utf8')) as object

const OURS = /^\/api\/v1(?:[/?]|$)/

/** Paths of a server alone: its health is there, too. */
const ALONE = /^\/(?:api\/v1|healthz)(?:[/?]|$)/

/** The strict API. The first check of an operation that fails decides (api.md); here the status codes of each. */
export function strictApi({
  lists,
  reports,
  pushes,
  authentication,
  inFlight,
  eventStreams,
  unavailableReason,
}: ApiDependencies): Surface {
  const list: Operation = (request) => {
    const [name, sha] = commitOf(request)
    const caller = authentication.caller(request, name) // 401, 403, 429
    const listOf = (known: Caller) => lists.list(known, name, () => fullCommitId(sha)) // 401, 404, 422
    const found = caller instanceof Promise ? caller.then(listOf) : listOf(caller)
    return found instanceof Promise ? found.then(listed) : listed(found)
  }

  const listed = ({ list }: LocatedList): Answer => listAnswer(list, inFlight)

  const verdict: Operation = async (request) => {
    const [name, sha] = commitOf(request)
    const caller = await authentication.caller(request, name) // 401, 403, 429
    const readRule = () => parseVerdictQuery(queryOf(request.url)) // 422
    const judged = await lists.verdict(caller, name, sha, readRule) // 401, 404, 422
    const { expiresIn } = judged
    return { ...tagged(judged.verdict), isPending: judged.verdict.verdict === 'pending', expiresIn }
  }

  const states: Operation = async (request) => {
    const [name] = commitOf(request)
    const caller = await authentication.caller(request, name) // 401, 403, 429
    const query = new URLSearchParams(queryOf(request.url))
    const shas = query.getAll('sha')
    const readFailed = () => failedAsked(query.getAll('failed')) // 422
    const found = await lists.states(caller, name, shas, readFailed) // 401, 404, 422
    // What everybody may read, pages of others may show: a log of cgit marks its commits.
    const headers = caller.user === undefined ? { 'Access-Control-Allow-Origin': '*' } : {}
    return { ...tagged(found), headers }
  }

  const events: Operation = async (request) => {
    const [name] = commitOf(request)
    const find = async () => await lists.find(await authentication.caller(request, name), name) // 401, 403, 404, 429
    const { name: found } = await find()
    return await eventStreams.answer(request, found, find) // 503
  }

  const bodyOf = (request: Request, response: ServerResponse, name: RepositoryName | undefined) => async () =>
    await receiveReport(
      inFlight,
      () => readJson(request, response),
      () => authentication.caller(request, name), // check 1 again, when the body was late
    )

  const report: Operation = async (request, response) => {
    const [name, sha] = commitOf(request)
    const caller = await authentication.caller(request, name) // check 1: 401, 403, 429
    const readBody = bodyOf(request, response, name) // checks 5, 6: 413, 400
    const { status } = await reports.report(caller, name, sha, readBody) // checks 2 to 9: 401, 403, 404, 422
    return { status: 201, body: toApiStatus(status), reporter: status.reporter }
  }

  const pushRoute = (reported: PushReports): Route => ({
    name: 'push',
    method: 'POST',
    path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/pushes$/,
    operation: async (request, response) => {
      const [name] = commitOf(request)
      const caller = await authentication.caller(request, name) // 401, 403, 429
      const readBody = bodyOf(request, response, name) // 413, 400
      const deliveries = await reported.report(caller, name, readBody) // 401, 403, 404, 400, 422
      return { status: 202, body: { deliveries } }
    },
  })

  const health: Operation = () => {
    const reason = unavailableReason()
    return reason === undefined ? { status: 200, body: { status: 'ok' } } : { status: 503, body: { status: reason } }
  }

  const document = tagged(openApi)

  return {
    addressOf(request, isAlone) {
      const url = originForm(String(request.url))
      return (isAlone ? ALONE : OURS).test(url) ? url : undefined
    },
    // Patterns, since polka's own would take any letter case and a slash at the end. The most used first: each is
    // tried.
    routes: [
      {
        name: 'list',
        method: 'GET',
        path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/commits\/(?<sha>[^/]+)\/statuses$/,
        operation: list,
        mayWait: true,
      },
      {
        name: 'report',
        method: 'POST',
        path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/statuses\/(?<sha>[^/]+)$/,
        operation: report,
      },
      {
        name: 'verdict',
        method: 'GET',
        path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/commits\/(?<sha>[^/]+)\/verdict$/,
        operation: verdict,
        mayWait: true,
      },
      {
        name: 'states',
        method: 'GET',
        path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/states$/,
        operation: states,
      },
      {
        name: 'events',
        method: 'GET',
        path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/events$/,
        operation: events,
      },
      ...(pushes ? [pushRoute(pushes)] : []),
      { name: 'healthz', method: 'GET', path: /^\/healthz$/, operation: health, isAlwaysOpen: true },
      {
        name: 'other',
        method: 'GET',
        path: /^\/api\/v1\/openapi\.json$/,
        operation: () => document,
        isAlwaysOpen: true,
      },
    ],
    refuse: errorAnswer,
  }
}

/** A JSON answer with an entity tag. */
function tagged(content: object): Answer {
  const body = jsonBytes(content)
  return { status: 200, body, digest: digestOf(body) }
}

/**
 * How many contexts that failed are to be told of each commit.
 * @throws ServiceError `parameter_invalid`
 */
function failedAsked([text, ...more]: readonly string[]): number | undefined {
  if (text === undefined) return undefined
  const count = Number(text)
  if (more.length > 0 || !/^[1-9]\d?$/.test(text) || count > MAX_FAILED)
    throw new ServiceError('parameter_invalid', { text: `failed must be given once, 1 to ${MAX_FAILED}` })
  return count
}

/** What an address names; without a name where it breaks the name rules. */
function commitOf({ params }: Request): readonly [name: RepositoryName | undefined, sha: string] {
  const { owner = '', repo = '', sha = '' } = params
  return [repositoryName(owner, repo), sha]
}
