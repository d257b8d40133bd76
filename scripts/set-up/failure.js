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
 * Does `work`; what stops it ends the process with a message, unless it is a fault of the code.
 * @template Result
 * @param {() => Result | Promise<Result>} work
 */
export async function orEnd(work) {
  try {
    return await work()
  } catch (error) {
    const text = describeFailure(error)
    if (text === undefined) throw error
    process.stderr.write(text)
    process.exit(1)
  }
}

/** The text for the terminal, or undefined for a fault of the code, which deserves its stack trace. */
function describeFailure(/** @type {unknown} */ error) {
  if (error instanceof SetUpFailure) {
    const lines = error.lines.map((line) => `  ${line}\n`).join('')
    return `${lines}set-up failed: ${error.message}\n  To mend it: ${error.mend}\n`
  }
  if (!(error instanceof Error && 'syscall' in error)) return undefined
  return `set-up failed: ${error.message}\n  To mend it: ${mendFor(codeOf(error))}\n`
}

function mendFor(/** @type {unknown} */ code) {
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return 'run as a user who may write in this folder (its owner)'
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return 'make room on the disk (about 500 MB), then run the same command again'
  return 'run the same command again'
}

/** Such as ENOENT, for an error of the system. */
export function codeOf(/** @type {unknown} */ error) {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
