import { PartError, ServiceError } from '../errors.js'

/** How long a part of the host may take for one answer. */
export const PART_MILLISECONDS = 10_000

/** How a part of the host is called: where it is named in the options, how long it may take. */
export interface PartCall {
  readonly part: string
  readonly milliseconds: number
}

/**
 * Calls a part of the host so that whatever it does becomes an answer that fits, or a rejection.
 * @param call may throw, reject, hang or answer nonsense
 * @param fits whether an answer is of the form the contract asks for
 * @throws ServiceError `part_unresponsive` when it takes too long, PartError for nonsense, else what it throws
 */
export async function callPart<T>(
  guard: PartCall,
  method: string,
  call: () => unknown,
  fits: (answer: unknown) => answer is T,
): Promise<T> {
  const name = `${guard.part}.${method}()`
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new ServiceError('part_unresponsive', {
          cause: new PartError(`${name} took longer than ${guard.milliseconds} ms`),
        }),
      )
    }, guard.milliseconds)
  })
  try {
    const answer: unknown = await Promise.race([call(), timeout])
    if (fits(answer)) return answer
    throw new PartError(`${name} answered ${describe(answer)}, which its contract does not allow`)
  } finally {
    clearTimeout(timer)
  }
}

/** Takes the answer of a method that must not answer later: should it be a promise, its rejection is nobody's. */
export function ignoreLateResult(answer: unknown): unknown {
  if (answer instanceof Promise) answer.catch(() => undefined)
  return answer
}

function describe(answer: unknown): string {
  return typeof answer === 'object' && answer !== null
    ? `an object with ${Object.keys(answer).join(', ') || 'nothing'}`
    : String(answer)
}
