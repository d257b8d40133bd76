/** Keys from one to before another, in the order of their UTF-8 bytes. */
export interface KeyRange {
  readonly gte: string
  readonly lt: string
}

/** What is not a status has a key that begins with an exclamation mark, and no name of an owner begins with less. */
export const STATUSES: KeyRange = { gte: '"', lt: '\uffff' }
