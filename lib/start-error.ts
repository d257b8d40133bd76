/** The service cannot start as it is set up. The message tells an admin, in one line, what is wrong and what to change. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
