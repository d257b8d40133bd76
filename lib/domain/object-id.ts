/** The two object formats of git (gitformat-hash-function-transition). */
export type ObjectFormat = 'sha1' | 'sha256'

/** A full object id of git: a value, parsed once where it enters. */
export interface ObjectId {
  /** 40 or 64 lower-case hex digits. */
  readonly hex: string
  readonly format: ObjectFormat
}

/**
 * Parses a full object id, upper or lower case ("Commit id in paths" of the specification).
 * @returns `undefined` for anything but 40 or 64 hex digits: never an abbreviated id, a name or a revision.
 */
export function parseObjectId(text: unknown): ObjectId | undefined {
  if (typeof text !== 'string' || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(text)) return undefined
  return { hex: text.toLowerCase(), format: text.length === 40 ? 'sha1' : 'sha256' }
}
