/** Longer names than file systems take; git itself has no bound. */
const MAX_BYTES = 1024

/** What no ref may have in it: the rules of git-check-ref-format(1), in their order there. */
const FORBIDDEN = [
  /(?:^|\/)\./, // a part that begins with a dot,
  /\.lock(?:\/|$)/, // or ends with .lock
  /\.\./,
  /[\u0000- \u007f~^:?*[\\]/,
  /^\/|\/$|\/\//,
  /\.$/,
  /@\{/,
  /^@$/,
  /^-/, // what git would take for an option
]

/** Whether a ref may have this name, short or full. No range, option or other revision does. */
export function isRefName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= MAX_BYTES && !FORBIDDEN.some((pattern) => pattern.test(name))
}

/**
 * The full names that a name may stand for, the likeliest first: a branch is taken before a tag of its name.
 * @param name as `isRefName` accepts it
 */
export function fullRefNames(name: string): readonly string[] {
  if (name === 'HEAD' || name.startsWith('refs/')) return [name]
  const short = [`refs/heads/${name}`, `refs/tags/${name}`]
  return /^(?:heads|tags)\//.test(name) ? [`refs/${name}`, ...short] : [...short, `refs/${name}`]
}
