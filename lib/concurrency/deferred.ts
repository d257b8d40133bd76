/** A promise that others settle. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

/** As `Promise.withResolvers`, which Node 20 does not have. */
export function deferred<T>(): Deferred<T> {
  let ways: Omit<Deferred<T>, 'promise'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    ways = { resolve, reject }
  })
  return { promise, resolve: (value) => ways?.resolve(value), reject: (reason) => ways?.reject(reason) }
}
