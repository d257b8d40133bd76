/** One change of the database. */
export type BatchOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: string }
  | { readonly type: 'del'; readonly key: string }

/** Changes, too many to hold as objects. */
export interface Batch {
  add(operation: BatchOperation): void
  /** Makes them, all or none. On disk once it has resolved. */
  write(): Promise<void>
  /** Lets go of them; harmless after `write`. */
  discard(): Promise<void>
}
