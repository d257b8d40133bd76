import { MAX_FAILED, MAX_STATES, STATES } from '../domain/commit-status.js'
import { recordSchema, statusMembers } from '../contracts/records.js'
import {
  CONTEXT_CHARACTERS,
  DEFAULT_CONTEXT,
  DESCRIPTION_CHARACTERS,
  reportSchema,
  TARGET_URL_BYTES,
} from '../domain/report.js'
import { DURATION } from '../domain/verdict/duration.js'
import { PATTERN_CHARACTERS } from '../domain/verdict/pattern.js'
import { MAX_REQUIRED, MAX_USERS } from '../domain/verdict/rule.js'
import { errorResponses, headers } from './openapi-errors.js'

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
const sha = { type: 'string', pattern: '^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$' }
const repository = [
  parameter('owner', 'owner of the repository', name),
  parameter('repo', 'name of the repository', name),
]
const place = [...repository, parameter('sha', 'full commit id, in any letter case', sha)]

/** One that is given several times; `style` and `explode` are as they are where nobody says otherwise. */
const repeated = (name: string, description: string, items: object, count: object): object => ({
  name,
  in: 'query',
  description,
  schema: { type: 'array', items, ...count },
})
const pattern = { type: 'string', minLength: 1, maxLength: PATTERN_CHARACTERS }
const conditional = { name: 'If-None-Match', in: 'header', schema: text }
const prefer = (waits: string): object => ({
  name: 'Prefer',
  in: 'header',
  description: `wait=30: ${waits}, or after so many seconds (RFC 7240)`,
  schema: text,
})

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
  CombinedState: { enum: ['failure', 'pending', 'success', null], description: 'null when there is no status' },
  StatusList: recordSchema({
    state: ref('CombinedState'),
    statuses: { type: 'array', items: ref('Status'), description: 'ordered by the UTF-8 bytes of context' },
  }),
  Verdict: recordSchema(
    {
      verdict: { enum: ['failure', 'pending', 'success'] },
      required: {
        type: 'array',
        items: recordSchema({ require: pattern, state: ref('CombinedState') }),
        description: 'what was required, in its order, and the combined state of what it matches',
      },
    },
    {
      reasons: {
        type: 'array',
        items: text,
        description: 'with `by`, why something is pending for which nobody waits: sentences for people',
      },
    },
  ),
  States: recordSchema({
    states: {
      type: 'object',
      propertyNames: sha,
      additionalProperties: recordSchema(
        {
          state: ref('CombinedState'),
          statuses: { type: 'integer', minimum: 0, description: 'how many it has' },
        },
        {
          failed: {
            type: 'array',
            items: text,
            maxItems: MAX_FAILED,
            description: 'with the parameter failed: the contexts that failed, ordered by their UTF-8 bytes',
          },
        },
      ),
      description: 'by full commit id; a commit that is not there is left out',
    },
  }),
  Error: { ...recordSchema({ error: text }), additionalProperties: false },
}

const etag = { ETag: { description: 'for If-None-Match', schema: text } }
const waited = { 'Preference-Applied': { description: 'how long a wait was heeded for: wait=30', schema: text } }
const everywhere = { 'Access-Control-Allow-Origin': { description: '* without a token', schema: text } }
const refusals = (operation: Parameters<typeof errorResponses>[0]): object =>
  errorResponses(operation, json(ref('Error')))
/** What is found, and that it is what the client has. */
const found = (description: string, schema: string, more: object): object => ({
  200: { description, headers: { ...headers, ...etag, ...more }, content: json(ref(schema)) },
  304: { description: 'nothing has changed', headers: { ...headers, ...etag, ...more } },
})
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
            ...refusals('report'),
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
          parameters: [conditional, prefer('with If-None-Match, to be answered when the list changes')],
          responses: {
            ...found('the statuses and their combined state', 'StatusList', waited),
            ...refusals('list'),
          },
        },
      },
      '/api/v1/repos/{owner}/{repo}/commits/{sha}/verdict': {
        parameters: place,
        get: {
          operationId: 'getVerdict',
          tags: ['statuses'],
          summary: 'Tell whether what is required of a commit is there',
          description:
            'A public repository needs no token. Without require every context counts, and there must be one.',
          security: [{}, { token: [] }],
          parameters: [
            repeated('require', 'contexts; * stands for any characters, / too', pattern, { maxItems: MAX_REQUIRED }),
            repeated('by', 'only what these users reported last counts', pattern, { maxItems: MAX_USERS }),
            {
              name: 'stale',
              in: 'query',
              description: 'what is pending, and was last reported on longer ago, counts as failed; more than none',
              schema: { type: 'string', pattern: DURATION.source, examples: ['6h'] },
            },
            conditional,
            prefer('to be answered when the verdict is no longer pending'),
          ],
          responses: { ...found('the verdict', 'Verdict', waited), ...refusals('verdict') },
        },
      },
      '/api/v1/repos/{owner}/{repo}/states': {
        parameters: repository,
        get: {
          operationId: 'listStates',
          tags: ['statuses'],
          summary: 'Tell the combined states of many commits',
          description: 'A public repository needs no token.',
          security: [{}, { token: [] }],
          parameters: [
            { ...repeated('sha', 'full commit ids', sha, { minItems: 1, maxItems: MAX_STATES }), required: true },
            {
              name: 'failed',
              in: 'query',
              description: 'how many contexts that failed are told of each commit; without it none are',
              schema: { type: 'integer', minimum: 1, maximum: MAX_FAILED },
            },
            conditional,
          ],
          responses: { ...found('the states', 'States', everywhere), ...refusals('states') },
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
