import type { StatusList } from '../../../lib/domain/status-list.js'
import type { VerdictQuery } from '../../../lib/domain/verdict/rule.js'
import type { Verdict } from '../../../lib/domain/verdict/verdict.js'
import { errorMessage } from '../../../lib/errors.js'
import { visible } from '../terminal/visible.js'
import { answerText } from './answer-text.js'
import { certificateAdvice } from './certificate.js'
import { ServiceNotReached } from './report-failure.js'

/** A list of a thousand contexts, each as long as it may be, is smaller. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** What is shown of a text of the service. */
const MAX_CHARACTERS = 300

/** The commit that is asked about, where, and as whom. */
export interface AskedCommit {
  /** Base of the service's addresses. Redirects are not followed: the token is for this host. */
  readonly url: URL
  readonly token: string
  readonly repository: string
  readonly sha: string
}

/** The service has answered with something else than what was asked for, or not at all. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  /** Of the answer; `undefined`: there was none, or it is of another program. */
  readonly status: number | undefined
  /** What the service says. */
  readonly reason: string | undefined
  /** Milliseconds after which the service wants to be asked again. */
  readonly retryAfter: number

  constructor(message: string, more: { status?: number; reason?: string; retryAfter?: number; cause?: unknown } = {}) {
    super(message, { cause: more.cause })
    this.status = more.status
    this.reason = more.reason
    this.retryAfter = more.retryAfter ?? 0
  }
}

/** @throws NoAnswer also when the answer is to another question: nobody may pass for what was not asked */
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
    throw new NoAnswer(`${origin} does not answer as a commit-status service does: is the address right?`)
  if (!isAbout(body, require))
    throw new NoAnswer(`${origin} answers what was not asked: does a proxy take away what stands behind the "?"`)
  return body
}

/**
 * @param known the entity tag of the list that is known: then it is waited for another one, as long as the service lets
 * @returns `undefined` while it is the one that is known
 * @throws NoAnswer
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
    throw new NoAnswer(`${origin} does not answer as a commit-status service does: is the address right?`)
  return { list: body, etag: sent.get('etag') ?? '' }
}

interface Heard {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
  readonly origin: string
}

async function ask(
  { url, token, repository, sha }: AskedCommit,
  what: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Heard> {
  const { origin } = url
  let response: Response
  let text: string
  try {
    response = await fetch(new URL(`api/v1/repos/${repository}/commits/${sha}/${what}`, url), {
      redirect: 'manual',
      headers: { Authorization: `Bearer ${token}`, Accept: 'application/json', ...headers },
      signal,
    })
    text = await answerText(response, MAX_ANSWER_BYTES)
  } catch (cause) {
    if (cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large')
      throw new NoAnswer(`${origin} sends an answer without end: it is no commit-status service`, { cause })
    const words = `${origin} cannot be reached: ${connectionReason(cause)}`
    const advice = certificateAdvice(cause)
    if (advice !== undefined) throw new ServiceNotReached(`${words}; ${advice}`, { cause })
    throw new NoAnswer(words, { cause })
  }
  const { status } = response
  // Should a proxy show what it was sent.
  const body = parsed(text.replaceAll(token, '***'))
  if (status === 200 || status === 304) return { status, headers: response.headers, body, origin }
  const reason = hasError(body) ? body.error : undefined
  const seconds = Number(response.headers.get('retry-after') ?? '0')
  const words =
    reason === undefined ? ', not as a commit-status service does: is the address right?' : ` (${shown(reason)})`
  throw new NoAnswer(`${origin} answers ${status}${words}`, {
    ...(reason !== undefined && { status, reason }),
    retryAfter: Number.isFinite(seconds) ? seconds * 1000 : 0,
  })
}

/** A text of the service, so long and no longer, as it may be shown on a terminal. */
export function shown(text: string): string {
  return visible(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text)
}

function parsed(text: string): unknown {
  try {
    const content: unknown = JSON.parse(text)
    return content
  } catch {
    return undefined
  }
}

function has<K extends string>(value: unknown, ...members: K[]): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && members.every((member) => Object.hasOwn(value, member))
}

function hasError(body: unknown): body is { error: string } {
  return has(body, 'error') && typeof body.error === 'string'
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

/** fetch says no more than that it failed; why is in its causes, of which one with two addresses has no message. */
function connectionReason(error: unknown): string {
  if (!(error instanceof Error)) return errorMessage(error)
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'no answer in time'
  if (error.cause instanceof Error) return connectionReason(error.cause)
  return error.message === '' && 'code' in error ? String(error.code) : shown(errorMessage(error))
}
