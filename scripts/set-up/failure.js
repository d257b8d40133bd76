/** What stops the set-up and is no fault of its code: shown without a stack trace. */
export class SetUpFailure extends Error {
  /**
   * @param {string} message what is wrong, in one line
   * @param {{ mend: string, lines?: string[] }} more how to mend it, in words that name the
   *   command; and lines of the output of the command that failed
   */
  constructor(message, { mend, lines = [] }) {
    super(message)
    this.mend = mend
    this.lines = lines
  }
}

/**
 * The text for the terminal, or undefined for a fault of the code, which deserves its stack trace.
 * @param {any} error
 */
export function describeFailure(error) {
  if (error instanceof SetUpFailure) {
    const lines = error.lines.map((line) => `  ${line}\n`).join('')
    return `${lines}set-up failed: ${error.message}\n  To mend it: ${error.mend}\n`
  }
  if (error.syscall === undefined) return undefined
  const mend = ['EACCES', 'EPERM', 'EROFS'].includes(error.code)
    ? 'run as a user who may write in this folder (its owner)'
    : error.code === 'ENOSPC' || error.code === 'EDQUOT'
      ? 'make room on the disk (about 500 MB), then run the same command again'
      : 'run the same command again'
  return `set-up failed: ${error.message}\n  To mend it: ${mend}\n`
}
