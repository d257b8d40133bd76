/** What an admin asked for cannot be done; the message says why, in words for the admin. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError'
}
