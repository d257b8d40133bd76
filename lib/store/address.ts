/** What the setting `store` may be: `level:` and a folder, or the URL of a database. */
const LEVEL = 'level:'

/** The folder of a LevelDB store; `undefined` for any other. */
export function levelFolder(address: string): string | undefined {
  return address.startsWith(LEVEL) ? address.slice(LEVEL.length) : undefined
}

/**
 * Matches a URL in which the password cannot be mistaken for another part. With a slash too many or too few, or with
 * one of `@/?#` written as it is, a piece of it would become a host or the name of a database, which errors repeat.
 */
const DATABASE = /^postgres(?:ql)?:\/\/(?=.)(?:[^@:/?#]*(?::[^/?#]*)?@)?[^@/?#]*(?:\/[^@?#]*)?(?:\?(?:\w+=[^#]*)?)?$/

/** Whether it is the URL of a database. */
export function isDatabaseUrl(address: string): boolean {
  return DATABASE.test(address)
}

/** Whether it may be the setting `store`. */
export function isStoreAddress(text: string): boolean {
  if (levelFolder(text) !== undefined) return true
  // As the driver does it: the host may be left out after the password, with `?host=` in its place.
  return isDatabaseUrl(text) && URL.canParse(text.replace('@/', '@localhost/'))
}

/** Shortens what is no address of a store to what a message may show: after the scheme may be a password anywhere. */
export function schemeOnly(text: string): string {
  return `${/^[a-z]+:/i.exec(text)?.[0] ?? ''}***`
}

/** An address of a store, without who logs in there and with what: for messages and the log. */
export function withoutPassword(text: string): string {
  return text.replace(/:\/\/.*@/s, '://***@').replaceAll(/([?&]\w*password=)[^&#"]*/gi, '$1***')
}
