import { Readable } from 'node:stream'
import getRawBody from 'raw-body'
import type { CommitState } from '../../../lib/commit-status.js'
import { errorMessage } from '../../../lib/errors.js'
import { visible } from '../terminal/visible.js'

/** How long one answer may take. */
const ANSWER_MILLISECONDS = 10_000

/** A list of a commit may be long; what is longer is no answer of a service. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

export interface ServicePlace {
  readonly url: URL
  readonly token: string | undefined
  /** `owner/repo` */
  readonly repository: string
}

/** A commit in the words of its service. */
export interface KnownState extends CommitState {
  /** The contexts that failed. */
  readonly failed: readonly string[]
}

/** The states of commits, over HTTP. Rejects when the service is not reached or answers anything else. */
export async function statesOf(place: ServicePlace, shas: readonly string[]): Promise<Map<string, KnownState>> {
  const query = new URLSearchParams(shas.map((sha): [string, string] => ['sha', sha]))
  const answer = await ask(place, `states?${query.toString()}`)
  const states = member(answer, 'states')
  const known = shas.map(async (sha): Promise<[string, KnownState] | undefined> => {
    const state = stateIn(member(states, sha))
    return state && [sha, { ...state, failed: state.state === 'failure' ? await failedContexts(place, sha) : [] }]
  })
  return new Map((await Promise.all(known)).flatMap((entry) => (entry ? [entry] : [])))
}

async function failedContexts(place: ServicePlace, sha: string): Promise<string[]> {
  const statuses = member(await ask(place, `commits/${sha}/statuses`), 'statuses')
  if (!Array.isArray(statuses)) throw new Error('the service answers no list')
  return statuses
    .filter((status: unknown) => member(status, 'state') === 'failure' || member(status, 'state') === 'error')
    .map((status: unknown) => String(member(status, 'context')))
}

async function ask({ url, token, repository }: ServicePlace, path: string): Promise<unknown> {
  const { origin } = url
  let response: Response
  let text: string
  try {
    response = await fetch(new URL(`api/v1/repos/${repository}/${path}`, url), {
      redirect: 'manual',
      headers: { Accept: 'application/json', ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
    })
    text = response.body
      ? await getRawBody(Readable.fromWeb(response.body), { limit: MAX_ANSWER_BYTES, encoding: 'utf8' })
      : ''
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {}
    throw new Error(`${origin} cannot be reached: ${errorMessage(cause)}`, { cause: error })
  }
  const answer = parsed(text)
  if (response.status === 200 && answer !== undefined) return answer
  const reason = member(answer, 'error')
  const masked = typeof reason === 'string' ? reason.slice(0, 500).replaceAll(token ?? '\0', '***') : 'no error of ours'
  throw new Error(`${origin} answers ${response.status} (${visible(masked)})`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function stateIn(found: unknown): CommitState | undefined {
  const [state, statuses] = [member(found, 'state'), member(found, 'statuses')]
  if (typeof statuses !== 'number') return undefined
  if (state === null || state === 'failure' || state === 'pending' || state === 'success') return { state, statuses }
  return undefined
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}
