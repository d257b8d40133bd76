import { MAX_FAILED, type CommitState } from '../../../lib/domain/commit-status.js'
import { errorMessage } from '../../../lib/errors.js'
import { visible } from '../terminal/visible.js'
import { answerText } from './answer-text.js'
import { certificateAdvice } from './certificate.js'

/** How long one answer may take. */
const ANSWER_MILLISECONDS = 10_000

/** Of 100 commits, each with 20 contexts of 255 characters; what is longer is no answer of a service. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

export interface ServicePlace {
  readonly url: URL
  readonly token: string | undefined
  /** `owner/repo` */
  readonly repository: string
}

/** The states of commits, over HTTP. Rejects when the service is not reached or answers anything else. */
export async function statesOf(place: ServicePlace, shas: readonly string[]): Promise<Map<string, CommitState>> {
  const query = new URLSearchParams({ failed: String(MAX_FAILED) })
  for (const sha of shas) query.append('sha', sha)
  const answer = await ask(place, `states?${query.toString()}`)
  const states = member(answer, 'states')
  return new Map(
    shas.flatMap((sha): [string, CommitState][] => {
      const state = stateIn(member(states, sha))
      return state ? [[sha, state]] : []
    }),
  )
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
    text = await answerText(response, MAX_ANSWER_BYTES)
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {}
    if (member(error, 'type') === 'entity.too.large')
      throw new Error(`${origin} answers more than ${MAX_ANSWER_BYTES} bytes`, { cause: error })
    const advice = certificateAdvice(error)
    const words = `${errorMessage(cause)}${advice === undefined ? '' : `; ${advice}`}`
    throw new Error(`${origin} cannot be reached: ${words}`, { cause: error })
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
  const [state, statuses, failed] = ['state', 'statuses', 'failed'].map((name) => member(found, name))
  if (typeof statuses !== 'number') return undefined
  if (state !== null && state !== 'failure' && state !== 'pending' && state !== 'success') return undefined
  return { state, statuses, ...(Array.isArray(failed) && { failed: failed.map(String) }) }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}
