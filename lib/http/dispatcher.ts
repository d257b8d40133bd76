import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { IncomingMessage, type ServerResponse } from 'node:http'
import polka, { type Middleware, type Request } from 'polka'
import { MAX_FAILED, shownStatus } from '../domain/commit-status.js'
import { ServiceError } from '../errors.js'
import { andThen, type Eventual } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter, Route as RouteName } from '../contracts/meter.js'
import { repositoryName, type RepositoryName } from '../domain/repository-name.js'
import type { InFlight } from '../service/in-flight.js'
import { fullCommitId, type StatusService } from '../service/status-service.js'
import { parseVerdictQuery } from '../domain/verdict/rule.js'
import type { Authentication } from './authentication.js'
import { readJson, receiveReport } from './body.js'
import type { Waiting, WaitedAnswer } from './waiting.js'
import { errorAnswer, Exchange, allowing, listAnswer, type Answer } from './exchange.js'
import { originForm, queryOf } from './request-target.js'
import type { Operation, Room, Route } from './surface.js'

/** The API as OpenAPI 3.1, without the white space of the file. */
const openApi = Buffer.from(
  JSON.stringify(JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8')) as unknown),
)
const openApiDigest = hash('sha256', openApi, 'base64url').slice(0, 22)

export interface HandlerParts {
  readonly service: StatusService
  readonly authentication: Authentication
  readonly inFlight: InFlight
  /** `undefined` when the service accepts reports, else the reason. */
  readonly unavailableReason: () => string | undefined
  readonly waiting: Waiting
  /** Addresses beside the API. */
  readonly rooms: readonly Room[]
  readonly logger: Logger
  readonly meter: Meter
}

/**
 * Answers a request. With `next`, only what is under `/api/v1/` is answered and `next` is called for the rest;
 * without it, everything is, `/healthz` included. Never throws and never rejects.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

/** The HTTP edge: addresses and methods to operations, refusals and failures to answers. */
export function createHandler(parts: HandlerParts): Handler {
  const { service, authentication, inFlight, waiting, unavailableReason } = parts

  /** An operation of the API: the first of its checks that fails decides (api.md); here the status codes of each. */
  const checked =
    <Found extends Answer>(
      operation: (request: Request, response: ServerResponse) => Eventual<Found>,
    ): ((request: Request, response: ServerResponse) => Eventual<Found>) =>
    (request, response) =>
      inFlight.entered(() => {
        refuseMalformedEscapes(request.path) // 400
        refuseTransferCodings(request) // 501
        return operation(request, response)
      }) // 503

  /** One for which a client may wait. */
  const waited =
    (look: (request: Request, commit: AskedCommit) => Eventual<WaitedAnswer>): Operation =>
    (request, response) => {
      const commit = commitOf(request)
      const [name, sha] = commit
      const again = () => look(request, commit)
      const first = () => checked(again)(request, response)
      return waiting.answer({ request, response, name, sha }, first, again)
    }

  const list = waited((request, [name, sha]) => {
    const caller = authentication.caller(request) // 401, 403, 429
    const found = andThen(caller, (known) => service.list(known, name, () => fullCommitId(sha))) // 401, 404, 422
    return andThen(found, ({ list }) => listAnswer(list, inFlight))
  })

  const verdict = waited(async (request, commit) => {
    const caller = await authentication.caller(request) // 401, 403, 429
    const readRule = () => parseVerdictQuery(queryOf(request.url)) // 422
    const judged = await service.verdict(caller, ...commit, readRule) // 401, 404, 422
    const body = Buffer.from(JSON.stringify(judged.verdict))
    const digest = hash('sha256', body, 'base64url').slice(0, 22)
    const { changesIn } = judged
    return { status: 200, body, digest, isPending: judged.verdict.verdict === 'pending', changesIn }
  })

  const states = checked(async (request) => {
    const caller = await authentication.caller(request) // 401, 403, 429
    const query = new URLSearchParams(queryOf(request.url))
    const shas = query.getAll('sha')
    const readFailed = () => failedAsked(query.getAll('failed')) // 422
    const { owner = '', repo = '' } = request.params
    const found = await service.states(caller, repositoryName(owner, repo), shas, readFailed) // 401, 404, 422
    const body = Buffer.from(JSON.stringify(found))
    const digest = hash('sha256', body, 'base64url').slice(0, 22)
    // What everybody may read, pages of others may show: a log of cgit marks its commits.
    const headers = caller.user === undefined ? { 'Access-Control-Allow-Origin': '*' } : {}
    return { status: 200, body, digest, headers }
  })

  const report = checked(async (request, response) => {
    const caller = await authentication.caller(request) // check 1: 401, 403, 429
    const readBody = () =>
      receiveReport(
        inFlight,
        () => readJson(request, response), // checks 5, 6: 413, 400
        () => authentication.caller(request), // check 1 again, when the body was late
      )
    const { status } = await service.report(caller, ...commitOf(request), readBody) // checks 2 to 9: 401, 403, 404, 422
    return { status: 201, body: shownStatus(status), reporter: status.reporter }
  })

  const health: Operation = () => {
    const reason = unavailableReason()
    return reason === undefined ? { status: 200, body: { status: 'ok' } } : { status: 503, body: { status: reason } }
  }

  const document: Operation = () => ({ status: 200, body: openApi, digest: openApiDigest })

  // Patterns, since polka's own would take any letter case and a slash at the end. The most used first: each is tried.
  const routes: readonly Route[] = [
    {
      name: 'list',
      method: 'GET',
      path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/commits\/(?<sha>[^/]+)\/statuses$/,
      operation: list,
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
    },
    {
      name: 'states',
      method: 'GET',
      path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/states$/,
      operation: states,
    },
    { name: 'healthz', method: 'GET', path: /^\/healthz$/, operation: health },
    { name: 'other', method: 'GET', path: /^\/api\/v1\/openapi\.json$/, operation: document },
  ]

  type Refuse = (error: ServiceError, request: Request) => Eventual<Answer>

  const answering =
    (name: RouteName, operation: Operation, refuse: Refuse): Middleware =>
    (request, response) =>
      new Exchange(request, response, name, parts).answer(
        () => operation(request, response),
        (error) => refuse(error, request),
      )

  const routed = (routes: readonly Route[], refuse: Refuse) => {
    const noMatch: Operation = (request) => {
      inFlight.refuseWhenClosing()
      refuseMalformedEscapes(request.path)
      const known = routes.filter(({ path }) => path.test(request.path)).map(({ method }) => method)
      if (known.length === 0) throw new ServiceError('path_unknown')
      const allowed = known.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
      return andThen(refuse(new ServiceError('method_not_allowed'), request), (answer) => allowing(allowed, answer))
    }
    const app = polka({ onNoMatch: answering('other', noMatch, refuse) })
    for (const { name, method, path, operation } of routes) app.add(method, path, answering(name, operation, refuse))
    return app
  }

  const foyer = parts.rooms.find(({ isAlone }) => isAlone)
  const api = routed(routes, (error, request) =>
    foyer && isForPeople(request) ? foyer.refuse(error, request) : errorAnswer(error),
  )
  const rooms = parts.rooms.map((room) => {
    const guarded = room.routes.map((route) => ({ ...route, operation: checked(route.operation) }))
    const refuse: Refuse = async (error, request) => await room.refuse(error, request)
    return { addressOf: (url: string) => room.addressOf(url), app: routed(guarded, refuse) }
  })

  return (request, response, next) => {
    try {
      for (const { addressOf, app } of rooms) {
        const url = addressOf(wholeUrl(request))
        if (url === undefined) continue
        request.url = url
        answer(app, request, response)
        return
      }
      if (!next || isOurs(request)) {
        answer(api, request, response)
        return
      }
    } catch (error) {
      void new Exchange(request, response, 'other', parts).answer(() => {
        throw new Error('the request is not as node:http makes it', { cause: error })
      })
      return
    }
    // Not within: what the host throws is the host's.
    next()
  }
}

/** Whether a browser asks for what no program would: no path of an API. */
function isForPeople({ path, headers }: Request): boolean {
  return !/^\/(?:healthz|(?:[^/]+\/)?api)(?:\/|$)/.test(path) && (headers.accept ?? '').includes('text/html')
}

function answer(app: ReturnType<typeof polka>, request: IncomingMessage, response: ServerResponse): void {
  makeAssignable(request)
  // Polka would call a `next` before any route, so it gets none (its type asks for one).
  Reflect.apply(app.handler, app, [request, response])
}

/** As the client has sent it: hosts take away what they have mounted the handler at. */
function wholeUrl(request: IncomingMessage): string {
  const original = 'originalUrl' in request ? request.originalUrl : undefined
  return originForm(typeof original === 'string' ? original : String(request.url))
}

function isOurs({ url = '' }: IncomingMessage): boolean {
  return /^\/api\/v1(?:[/?]|$)/.test(originForm(url))
}

/** Polka writes to these members; express has some as getters that refuse. */
function makeAssignable(request: IncomingMessage): void {
  request.url = originForm(String(request.url))
  if (Object.getPrototypeOf(request) === IncomingMessage.prototype && !('params' in request)) return
  for (const member of ['params', 'path', 'query', 'search']) {
    if (member in request)
      Object.defineProperty(request, member, { value: undefined, writable: true, configurable: true })
  }
}

/** Polka leaves a malformed escape as it is, in silence. */
export function refuseMalformedEscapes(path: string): void {
  if (!path.includes('%')) return
  try {
    decodeURIComponent(path)
  } catch (cause) {
    throw new ServiceError('malformed_path', { cause })
  }
}

/** RFC 9112, 6.1; node:http reads the chunks of a body and leaves other codings as they are. */
export function refuseTransferCodings({ headers }: IncomingMessage): void {
  const codings = headers['transfer-encoding']
  if (codings !== undefined && codings.trim().toLowerCase() !== 'chunked') {
    throw new ServiceError('transfer_coding_unknown')
  }
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
type AskedCommit = readonly [name: RepositoryName | undefined, sha: string]

function commitOf({ params }: Request): AskedCommit {
  const { owner = '', repo = '', sha = '' } = params
  return [repositoryName(owner, repo), sha]
}
