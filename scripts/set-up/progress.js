const terminal = process.stderr.isTTY
const intervalMilliseconds = terminal ? 1000 : 10_000

/** One line for people. On standard error: standard output belongs to what runs after the set-up. */
export function say(/** @type {string} */ line) {
  process.stderr.write(`set-up: ${line}\n`)
}

/** Whole seconds since `start`, a `performance.now()`. */
export function secondsSince(/** @type {number} */ start) {
  return Math.round((performance.now() - start) / 1000)
}

/**
 * Shows `text()` again and again while `work` runs: on a terminal in one line that is rewritten
 * and gone at the end, elsewhere (a pipe, a CI log) as a line every ten seconds.
 * @template Result
 * @param {() => string} text
 * @param {() => Promise<Result>} work
 */
export async function withProgress(text, work) {
  const erase = () => process.stderr.write('\r\x1b[2K')
  const show = () => process.stderr.write(terminal ? `\r\x1b[2K${text()}` : `${text()}\n`)
  const working = work()
  const timer = setInterval(show, intervalMilliseconds)
  if (terminal) {
    process.once('exit', erase)
    show()
  }
  try {
    return await working
  } finally {
    clearInterval(timer)
    if (terminal) {
      process.off('exit', erase)
      erase()
    }
  }
}
