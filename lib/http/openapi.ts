import { STATES } from '../commit-status.js'
import { catalogue, ERROR_CODES, ServiceError, type ErrorCode } from '../errors.js'
import { recordSchema, statusMembers } from '../parts/records.js'
import {
  CONTEXT_CHARACTERS,
  DEFAULT_CONTEXT,
  DESCRIPTION_CHARACTERS,
  reportSchema,
  TARGET_URL_BYTES,
} from '../report.js'

/** Which operations an error may end; a new one has to be put somewhere. */
const ENDS: Readonly<Record<ErrorCode, 'both' | 'report' | 'neither'>> = {
  malformed_path: 'both',
  malformed_request: 'both',
  invalid_body: 'report',
  credentials_missing: 'both',
  credentials_wrong: 'both',
  scope_missing: 'both',
  sudo_denied: 'neither',
  request_forged: 'neither',
  user_invalid: 'neither',
  write_denied: 'report',
  context_denied: 'report',
  repository_not_found: 'both',
  commit_not_found: 'both',
  path_unknown: 'neither',
  method_not_allowed: 'neither',
  request_timeout: 'both',
  body_too_large: 'report',
  sha_invalid: 'both',
  state_invalid: 'report',
  field_invalid: 'report',
  parameter_invalid: 'neither',
  shas_invalid: 'neither',
  too_many_contexts: 'report',
  too_many_failures: 'both',
  headers_too_large: 'both',
  internal: 'both',
  transfer_coding_unknown: 'both',
  overloaded: 'both',
  repository_unreadable: 'both',
  part_unresponsive: 'both',
  store_unavailable: 'both',
  shutting_down: 'both',
}

const text = { type: 'string' }
const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` })
const json = (schema: object): object => ({ 'application/json': { schema } })
const parameter = (name: string, description: string, schema: object): object => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})

const name = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*$' }
const place = [
  parameter('owner', 'owner of the repository', name),
  parameter('repo', 'name of the repository', name),
  parameter('sha', 'full commit id, in any letter case', {
    type: 'string',
    pattern: '^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$',
  }),
]

const { state, context, description, target_url } = reportSchema.properties

const schemas = {
  State: { type: 'string', enum: STATES },
  Status: recordSchema({ ...statusMembers, state: ref('State') }),
  Report: {
    ...reportSchema,
    properties: {
      state: { ...state, enum: STATES },
      context: { ...context, minLength: 1, maxLength: CONTEXT_CHARACTERS, default: DEFAULT_CONTEXT },
      description: { ...description, maxLength: DESCRIPTION_CHARACTERS },
      target_url: {
        ...target_url,
        maxLength: TARGET_URL_BYTES,
        description: `absolute http or https URL with a host, at most ${TARGET_URL_BYTES} bytes`,
      },
    },
  },
  StatusList: recordSchema({
    state: { enum: ['failure', 'pending', 'success', null], description: 'the combined state' },
    statuses: { type: 'array', items: ref('Status'), description: 'ordered by the UTF-8 bytes of context' },
  }),
  Error: { ...recordSchema({ error: text }), additionalProperties: false },
}

/** The refusals and failures of an operation, by their HTTP status. */
function errorResponses(operation: 'report' | 'list'): Record<string, object> {
  const codes = ERROR_CODES.filter((code) => ENDS[code] === 'both' || ENDS[code] === operation)
  const texts = new Map<number, string[]>()
  const retries = new Set<number>()
  for (const code of codes) {
    const { status, retryAfter } = new ServiceError(code)
    texts.set(status, [...(texts.get(status) ?? []), catalogue[code].text])
    if (retryAfter !== undefined || status === 429) retries.add(status)
  }
  return Object.fromEntries(
    [...texts].map(([status, reasons]) => [
      status,
      {
        description: reasons.join('; '),
        headers: {
          ...headers,
          ...(status === 401 && { 'WWW-Authenticate': { schema: text } }),
          ...(retries.has(status) && { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } }),
        },
        content: json(ref('Error')),
      },
    ]),
  )
}

const headers = { 'X-Request-Id': { description: 'that of the request, or a new one', schema: text } }
const etag = { ETag: { description: 'for If-None-Match', schema: text } }
const health = { description: 'whether reports are accepted', content: json(recordSchema({ status: text })) }

/** The API as OpenAPI 3.1, made of what checks requests and answers them. */
export function openApi(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'commit-status',
      version: '1',
      description: 'Records and serves check results (commit statuses) on commits of hosted repositories.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [{ name: 'statuses' }, { name: 'service' }],
    paths: {
      '/api/v1/repos/{owner}/{repo}/statuses/{sha}': {
        parameters: place,
        post: {
          operationId: 'reportStatus',
          tags: ['statuses'],
          summary: 'Report a status',
          description: 'A new report for the same context replaces the earlier one. The body has at most 16,384 bytes.',
          security: [{ token: [] }],
          requestBody: { required: true, content: json(ref('Report')) },
          responses: {
            201: { description: 'the saved status', headers, content: json(ref('Status')) },
            ...errorResponses('report'),
          },
        },
      },
      '/api/v1/repos/{owner}/{repo}/commits/{sha}/statuses': {
        parameters: place,
        get: {
          operationId: 'listStatuses',
          tags: ['statuses'],
          summary: 'List the statuses of a commit',
          description: 'A public repository needs no token. The list holds every context.',
          security: [{}, { token: [] }],
          parameters: [{ name: 'If-None-Match', in: 'header', schema: text }],
          responses: {
            200: {
              description: 'the statuses and their combined state',
              headers: { ...headers, ...etag },
              content: json(ref('StatusList')),
            },
            304: { description: 'nothing has changed', headers: { ...headers, ...etag } },
            ...errorResponses('list'),
          },
        },
      },
      '/api/v1/openapi.json': {
        get: {
          operationId: 'openApi',
          tags: ['service'],
          summary: 'This document',
          security: [],
          responses: {
            200: { description: 'OpenAPI 3.1', headers: { ...headers, ...etag }, content: json({ type: 'object' }) },
            304: { description: 'nothing has changed', headers: { ...headers, ...etag } },
          },
        },
      },
      '/healthz': {
        get: {
          operationId: 'health',
          tags: ['service'],
          summary: 'Whether reports are accepted',
          security: [],
          responses: { 200: health, 503: health },
        },
      },
    },
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A personal access token with the scope repo; the scheme `token` is taken as well.',
        },
      },
    },
  }
}
