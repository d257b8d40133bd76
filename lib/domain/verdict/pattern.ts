/** Characters of a pattern, as of a context. */
export const PATTERN_CHARACTERS = 255

/** The rule of patterns, for whoever breaks it. */
export const PATTERN_RULE = `1 to ${PATTERN_CHARACTERS} characters`

/** Whether a text may be a pattern of contexts: as a context, 1 to 255 Unicode code points, none of them U+0000. */
export function isPattern(text: string): boolean {
  // Twice as many UTF-16 units at the most: what is longer need not be counted.
  if (text === '' || text.length > 2 * PATTERN_CHARACTERS || !text.isWellFormed() || text.includes('\0')) return false
  return Array.from(text).length <= PATTERN_CHARACTERS
}

/**
 * Makes a pattern of contexts ready: `*` stands for any characters, `/` too, and for none; everything else stands for
 * itself. What stands between two `*` is looked for from left to right and never again, so that no pattern is dear.
 */
export function patternMatcher(pattern: string): (text: string) => boolean {
  const [first = '', ...middle] = pattern.split('*')
  const last = middle.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let place = first.length
    for (const part of middle) {
      const found = text.indexOf(part, place)
      if (found === -1 || found + part.length > end) return false
      place = found + part.length
    }
    return true
  }
}
