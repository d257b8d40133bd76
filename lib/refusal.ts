import { ServiceError } from './errors.js'
import { StoreFenced, StoreOverloaded, StoreUnavailable } from './store/store.js'

/** What a client is told of an error: itself when it was made for that, else how it looks from outside. */
export function refusalFor(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  // Without a cause: the log has been told, once and not for each of thousands.
  if (error instanceof StoreOverloaded) return new ServiceError('overloaded')
  if (error instanceof StoreFenced) return new ServiceError('store_unavailable')
  return new ServiceError(error instanceof StoreUnavailable ? 'store_unavailable' : 'internal', { cause: error })
}
