/**
 * A value that is known at once, or a promise of it: promises and the turns they take are dear where there are many
 * requests, and most of what a request needs is in memory.
 */
export type MaybePromise<T> = T | Promise<T>

/**
 * A part whose methods may answer at once where its contract has promises: ours do so, a host's need not.
 */
export type MaybeSync<Part> = {
  [Method in keyof Part]: Part[Method] extends (...args: infer Arguments) => Promise<infer Answer>
    ? (...args: Arguments) => MaybePromise<Answer>
    : Part[Method]
}

/** Goes on with a value, at once where it is known. What `next` throws is thrown, or rejects. */
export function chain<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** What came of something that may fail. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Does something; whatever it throws, or rejects with, is its outcome. */
export function settle<T>(work: () => MaybePromise<T>): MaybePromise<Outcome<T>> {
  try {
    const value = work()
    return value instanceof Promise ? value.then(succeeded, failed) : { value }
  } catch (error) {
    return { error }
  }
}

/** Uses something that is closed once it has been used, whatever comes of that. */
export function closing<T>(open: { close(): MaybePromise<void> }, use: () => MaybePromise<T>): MaybePromise<T> {
  return chain(settle(use), (outcome) =>
    chain(open.close(), () => {
      if ('error' in outcome) throw outcome.error
      return outcome.value
    }),
  )
}

function succeeded<T>(value: T): Outcome<T> {
  return { value }
}

function failed(error: unknown): Outcome<never> {
  return { error }
}
