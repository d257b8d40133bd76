import { ArgumentError } from '../../../lib/errors.js'
import { repositoryPath } from '../clients/service-address.js'
import { RequestFailed, send, unexpected } from '../clients/service-client.js'
import type { Way } from './hand-over.js'

/** How long the service may take for one answer. */
const MILLISECONDS = 4_000

/** What a service answers is smaller by far. */
const MAX_ANSWER_BYTES = 65_536

/** To a service that is somewhere else, or another user's, with a token. */
export function httpWay({ url, token, repository }: { url: URL; token: string; repository: string }): Way {
  const address = new URL(`${repositoryPath(repository)}/pushes`, url)
  return async (use) => {
    await use(async (push) => {
      const answer = await send(address, token, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(push),
        patience: MILLISECONDS,
        maxBytes: MAX_ANSWER_BYTES,
      })
      if (answer.status === 202) return
      const failed = unexpected(answer, repository)
      // Of the push itself, that is: the same would be refused again.
      throw isWrong(failed) ? new ArgumentError(failed.message, { cause: failed }) : failed
    })
  }
}

function isWrong({ status }: RequestFailed): boolean {
  return status === 400 || status === 413 || status === 422
}
