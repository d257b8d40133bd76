/** Whether a text may be a token, or a part of one, whatever its prefix: it is not to be shown. */
export function looksLikeToken(text: string): boolean {
  return /^[a-z][a-z0-9]{1,15}_[0-9a-f]{10,}/i.test(text)
}
