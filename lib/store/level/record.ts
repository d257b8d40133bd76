import { crc32 } from 'node:zlib'
import { StoreCorrupt, StoreUnavailable } from '../../errors.js'
import { recordSchema } from '../../contracts/records.js'
import { Schema } from '../../domain/schema.js'

/**
 * A stored value: JSON that a person can read, with the version of its form and a checksum of its key and content.
 * `{"v":1,"crc":"0a1b2c3d","is":{…}}`
 */
const FORM = /^\{"v":1,"crc":"([0-9a-f]{8})","is":(.*)\}$/s

export function encode(key: string, content: object): string {
  return sealed(key, JSON.stringify(content))
}

function sealed(key: string, text: string): string {
  const crc = checksum(key, text).toString(16).padStart(8, '0')
  return `{"v":1,"crc":"${crc}","is":${text}}`
}

/**
 * Reads back what `encode` wrote under the same key.
 * @param is tells whether the content has the form that is expected there
 * @throws StoreCorrupt when it is anything else
 */
export function decode<T>(key: string, value: string, is: (content: unknown) => content is T): T {
  const content: unknown = JSON.parse(decodeText(key, value))
  if (is(content)) return content
  throw damaged(key)
}

/** Reads the JSON of the content, as `decode`; what `encode` wrote has the form that it should have. */
export function decodeText(key: string, value: string): string {
  const text = wholeText(key, value)
  if (text === undefined) throw damaged(key)
  return text
}

/** `undefined` when it is damaged. */
function wholeText(key: string, value: string): string | undefined {
  const [, crc = '', text] = FORM.exec(value) ?? []
  // Numbers: to write one takes longer than to read one.
  return text !== undefined && parseInt(crc, 16) === checksum(key, text) ? text : undefined
}

export function damaged(key: string): StoreCorrupt {
  return new StoreCorrupt(`the value of ${JSON.stringify(key)} is damaged`)
}

/** @throws what a read that failed says of the store */
export function unreadable(cause: unknown, key: string | undefined): never {
  if (isCorruption(cause)) throw new StoreCorrupt(`what is stored at ${JSON.stringify(key)} cannot be read`, { cause })
  throw new StoreUnavailable('the store cannot be read', { cause })
}

function isCorruption(error: unknown): boolean {
  return error instanceof Error && (('code' in error && error.code === 'LEVEL_CORRUPTION') || isCorruption(error.cause))
}

/** The value under another key; one that is damaged stays so, for its next reader to see. */
export function rekeyed(key: string, newKey: string, value: string): string {
  const text = wholeText(key, value)
  return text === undefined ? value : sealed(newKey, text)
}

/**
 * A check of a content's form: what every member must be.
 * @param others those that may be absent
 */
export function contentCheck<T, Other extends keyof T & string = never>(
  members: Readonly<Record<Exclude<keyof T & string, Other>, object>>,
  others?: Readonly<Record<Other, object>>,
): (content: unknown) => content is T {
  return new Schema<T>(recordSchema(members, others)).is
}

function checksum(key: string, text: string): number {
  return crc32(key + text)
}
