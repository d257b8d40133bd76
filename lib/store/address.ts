/** What the setting `store` may be: `level:` and a folder, or the URL of a database. */
const LEVEL = 'level:'

/** The folder of a LevelDB store; `undefined` for any other. */
export function levelFolder(address: string): string | undefined {
  return address.startsWith(LEVEL) ? address.slice(LEVEL.length) : undefined
}

/** Whether it is the URL of a database. */
export function isDatabaseUrl(address: string): boolean {
  return /^postgres(?:ql)?:\/\/./.test(address)
}

/** A text that may be the URL of a database, without who logs in there and with what: for messages and the log. */
export function withoutPassword(text: string): string {
  return text.replace(/:\/\/.*@/s, '://***@').replaceAll(/([?&]\w*password=)[^&#"]*/gi, '$1***')
}
