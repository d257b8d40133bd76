/** What a push made of one ref. */
export interface PushedRef {
  /** In full: `refs/heads/main`. */
  readonly ref: string
  /** Full ids; zeros of what was not there before, or is not after. */
  readonly before: string
  readonly after: string
}

/** One ref of a push, and whose it was. None of the texts has a space. */
export interface Push extends PushedRef {
  /** Of the push: a UUID that whoever hands it over has made. */
  readonly id: string
  /** The user who pushed, as the git server says. */
  readonly pusher: string
  /** The user of the token with which it is said; else the same. */
  readonly sender: string
}

export const HEADS = 'refs/heads/'
export const TAGS = 'refs/tags/'

/** A push as a text, which begins with the ref. */
export function pushText({ ref, id, before, after, pusher, sender }: Push): string {
  return [ref, id, before, after, pusher, sender].join(' ')
}

/** Reads back what `pushText` made; `undefined` for anything else. */
export function parsePushText(text: string): Push | undefined {
  const parts = text.split(' ')
  const [ref = '', id = '', before = '', after = '', pusher = '', sender = ''] = parts
  return parts.length === 6 ? { ref, id, before, after, pusher, sender } : undefined
}

/** Whether a text is of a push: neither the id of a commit nor what stands behind one begins like that. */
export function isPushText(text: string): boolean {
  return text.startsWith('refs/')
}

/** Whether an id is of nothing, as git writes it of a ref that is not there. */
export function isNothing(id: string): boolean {
  return /^0+$/.test(id)
}
