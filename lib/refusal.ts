import { ServiceError } from './errors.js'
import { StoreUnavailable } from './store/store.js'

/** What a client is told of an error: itself when it was made for that, else how it looks from outside. */
export function refusalFor(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  return new ServiceError(error instanceof StoreUnavailable ? 'store_unavailable' : 'internal', { cause: error })
}
