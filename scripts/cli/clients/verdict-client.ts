import type { StatusList } from '../../../lib/domain/status-list.js'
import type { VerdictQuery } from '../../../lib/domain/verdict/rule.js'
import type { Verdict } from '../../../lib/domain/verdict/verdict.js'
import { repositoryPath } from './service-address.js'
import { has, RequestFailed, send, unexpected, type Endpoint, type ServiceAnswer } from './service-client.js'

/** A list of a thousand contexts, each as long as it may be, is smaller. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** The commit that is asked about. */
export interface AskedCommit extends Endpoint {
  readonly token: string
  readonly sha: string
}

/** @throws RequestFailed also when the answer is to another question: nobody may pass for what was not asked */
export async function askVerdict(
  commit: AskedCommit,
  { require = [], by = [], stale }: VerdictQuery,
  signal: AbortSignal,
): Promise<Verdict> {
  const query = new URLSearchParams()
  for (const pattern of require) query.append('require', pattern)
  for (const user of by) query.append('by', user)
  if (stale !== undefined) query.append('stale', stale)
  const { body, origin } = await ask(commit, `verdict?${query.toString()}`, {}, signal)
  if (!isVerdict(body))
    throw new RequestFailed(`${origin} does not answer as a commit-status service does: is the address right?`)
  if (!isAbout(body, require))
    throw new RequestFailed(`${origin} answers what was not asked: does a proxy take away what stands behind the "?"`)
  return body
}

/**
 * @param known the entity tag of the list that is known: then it is waited for another one, as long as the service lets
 * @returns `undefined` while it is the one that is known
 * @throws RequestFailed
 */
export async function askList(
  commit: AskedCommit,
  known: { etag: string; seconds: number } | undefined,
  signal: AbortSignal,
): Promise<{ list: StatusList; etag: string } | undefined> {
  const headers = known && { 'If-None-Match': known.etag, Prefer: `wait=${known.seconds}` }
  const { status, body, origin, headers: sent } = await ask(commit, 'statuses', headers ?? {}, signal)
  if (status === 304) return undefined
  if (!isList(body))
    throw new RequestFailed(`${origin} does not answer as a commit-status service does: is the address right?`)
  return { list: body, etag: sent.get('etag') ?? '' }
}

async function ask(
  { url, token, repository, sha }: AskedCommit,
  what: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ServiceAnswer> {
  const address = new URL(`${repositoryPath(repository)}/commits/${sha}/${what}`, url)
  const answer = await send(address, token, { headers, patience: signal, maxBytes: MAX_ANSWER_BYTES })
  if (answer.status === 200 || answer.status === 304) return answer
  throw unexpected(answer, repository)
}

function isVerdict(body: unknown): body is Verdict {
  if (!has(body, 'verdict', 'required') || !Array.isArray(body.required)) return false
  if (has(body, 'reasons') && !isTexts(body.reasons)) return false
  if (!['failure', 'pending', 'success'].some((verdict) => verdict === body.verdict)) return false
  return body.required.every((each: unknown) => has(each, 'require', 'state') && typeof each.require === 'string')
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** Whether it judges what was required, all of it and nothing else, and its parts agree with the whole. */
function isAbout({ verdict, required }: Verdict, asked: readonly string[]): boolean {
  if (required.length !== asked.length || required.some(({ require }, index) => require !== asked[index])) return false
  return verdict !== 'success' || required.every(({ state }) => state === 'success')
}

function isList(body: unknown): body is StatusList {
  if (!has(body, 'state', 'statuses') || !Array.isArray(body.statuses)) return false
  const texts = ['context', 'state', 'updated_at'] as const
  return body.statuses.every(
    (each: unknown) => has(each, ...texts) && texts.every((name) => typeof each[name] === 'string'),
  )
}
