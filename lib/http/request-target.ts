/** A target may stand in absolute form, which a server must accept (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
}

/** What stands before the question mark. */
export function pathname(target: string): string {
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/** What stands behind the question mark, as it was sent. */
export function queryOf(target: string): string {
  return target.slice(pathname(target).length + 1)
}
