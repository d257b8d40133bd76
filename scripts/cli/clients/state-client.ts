import { MAX_FAILED, type CommitState } from '../../../lib/domain/commit-status.js'
import { repositoryPath } from './service-address.js'
import { AnswerTooLarge, errorIn, send, shown, type Endpoint, withName } from './service-client.js'

/** How long one answer may take. */
const ANSWER_MILLISECONDS = 10_000

/** Of 100 commits, each with 20 contexts of 255 characters; what is longer is no answer of a service. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** The states of commits, over HTTP. Rejects when the service is not reached or answers anything else. */
export async function statesOf(endpoint: Endpoint, shas: readonly string[]): Promise<Map<string, CommitState>> {
  const query = new URLSearchParams({ failed: String(MAX_FAILED) })
  for (const sha of shas) query.append('sha', sha)
  const answer = await ask(endpoint, `states?${query.toString()}`)
  const states = member(answer, 'states')
  return new Map(
    shas.flatMap((sha): [string, CommitState][] => {
      const state = stateIn(member(states, sha))
      return state ? [[sha, state]] : []
    }),
  )
}

async function ask({ url, token, repository }: Endpoint, path: string): Promise<unknown> {
  const answer = await send(new URL(`${repositoryPath(repository)}/${path}`, url), token, {
    patience: ANSWER_MILLISECONDS,
    maxBytes: MAX_ANSWER_BYTES,
  }).catch((error: unknown) => {
    if (!(error instanceof AnswerTooLarge)) throw error
    throw new Error(`${url.origin} answers more than ${MAX_ANSWER_BYTES} bytes`, { cause: error })
  })
  const { origin, status, body } = answer
  if (status === 200 && body !== undefined) return body
  throw new Error(`${origin} answers ${status} (${shown(withName(errorIn(answer) ?? 'no error of ours', repository))})`)
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
