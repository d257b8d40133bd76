/** How much of a word must be as in another one for it to have been meant. */
const MIN_LIKENESS = 0.4

/** As many slips of the pen there may be. */
const MAX_DISTANCE = 3

/** The word that was most likely meant by a misspelt one; `undefined` when none is like it. */
function closest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((other) => ({ other, away: distance(word.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, away }) => away <= MAX_DISTANCE && 1 - away / Math.max(word.length, other.length) > MIN_LIKENESS)
    .sort((one, other) => one.away - other.away)
  return best?.other
}

/** What a message adds to the name of nothing that is there: what may have been meant, if anything. */
export function meant(name: string, known: readonly string[]): string {
  const like = closest(name, known)
  if (like === name) return '; a dot stands for a nested object'
  return like === undefined ? '' : `; did you mean ${like}?`
}

/** How many letters must be put in, taken away, replaced, or exchanged with the next one. */
function distance(from: string, to: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, index) => index)]
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const ways = [Number(last[column]) + 1, Number(now[column - 1]) + 1, Number(last[column - 1]) + (isSame ? 0 : 1)]
      const isExchanged = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      now.push(Math.min(...ways, ...(isExchanged ? [Number(before[column - 2]) + 1] : [])))
    }
    ;[before, last] = [last, now]
  }
  return Number(last[to.length])
}
