/** Texts come from whoever reports: none of them may steer a terminal, in JSON neither. */
export const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** One line of JSON, which a terminal can show. */
export function toJson(record: object): string {
  return JSON.stringify(record).replaceAll(STEERING, (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
  )
}
