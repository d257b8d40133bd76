import { crc32 } from 'node:zlib'
import { StoreCorrupt } from '../store.js'

/**
 * A stored value: JSON that a person can read, with the version of its form and a checksum of its key and content.
 * `{"v":1,"crc":"0a1b2c3d","is":{…}}`
 */
const FORM = /^\{"v":1,"crc":"([0-9a-f]{8})","is":(.*)\}$/s

export function encode(key: string, content: object): string {
  const text = JSON.stringify(content)
  return `{"v":1,"crc":"${checksum(key, text)}","is":${text}}`
}

/**
 * Reads back what `encode` made of a `T` under the same key; the checksum vouches for the type.
 * @throws StoreCorrupt when it is anything else
 */
export function decode<T extends object>(key: string, value: string): T {
  const [, crc, text] = FORM.exec(value) ?? []
  if (text === undefined || crc !== checksum(key, text)) throw new StoreCorrupt(`the value of ${JSON.stringify(key)} is damaged`)
  return JSON.parse(text) as T // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- see the checksum
}

function checksum(key: string, text: string): string {
  return crc32(text, crc32(key)).toString(16).padStart(8, '0')
}
