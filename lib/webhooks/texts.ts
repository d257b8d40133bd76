import type {
  BranchDelivery,
  DeliveredCommit,
  Delivery,
  PingDelivery,
  PushDelivery,
  StatusDelivery,
} from '../contracts/hooks.js'
import type { State } from '../domain/commit-status.js'
import { HEADS, isNothing, TAGS } from '../domain/push.js'
import { commitPageUrl } from '../http/compatible/formats.js'

/** What is told to people, a part after the other: the first is a sentence, the rest may be missing. */
export interface ToldText {
  readonly sentence: string
  /** What the reporter says, or the commit. */
  readonly detail?: string
  /** A page about it. */
  readonly url?: string
}

const MARKS = { success: '✓', failure: '✗', error: '✗', pending: '…' } as const satisfies Record<State, string>
const WORDS = {
  success: 'succeeded',
  failure: 'failed',
  error: 'ended with an error',
  pending: 'is pending',
} as const satisfies Record<State, string>

/** Characters of a detail, of an address in a chat, and of a whole line there: as many as Discord takes. */
const [MAX_DETAIL, MAX_URL, MAX_LINE] = [300, 600, 2000]

/** Contexts and branches that are named; the rest is counted. */
const MAX_NAMED = 5

/** What a delivery says to people. @param pages what the addresses of pages begin with */
export function textOf(delivery: Delivery, pages: string): ToldText {
  if (delivery.event === 'ping') return pingText(delivery)
  if (delivery.event === 'push') return pushText(delivery, pages)
  return delivery.event === 'status' ? statusText(delivery, pages) : branchText(delivery, pages)
}

/**
 * One line for a chat: Slack, Mattermost, Discord, bridges to Matrix. What others have written mentions nobody there,
 * and is neither a link nor a picture.
 */
export function chatLine({ sentence, detail, url }: ToldText): string {
  const link = url === undefined ? undefined : chatUrl(url)
  const end = link === undefined || link.length > MAX_URL ? '' : ` <${link}>`
  const parts = detail === undefined ? [sentence] : [sentence, detail]
  return cut(parts.map(defused).join(' – '), MAX_LINE - end.length) + end
}

/** A line for each part. */
export function textLines({ sentence, detail, url }: ToldText): string {
  return [sentence, detail, url].filter((line) => line !== undefined).join('\n')
}

function statusText({ repository, status, branches }: StatusDelivery, pages: string): ToldText {
  const { state, context, sha, description, target_url } = status
  const on = branches.length > 0 ? ` on ${named(branches)}` : ''
  return {
    sentence: inOneLine(`${MARKS[state]} ${repository.full} ${short(sha)}${on}: ${context} ${WORDS[state]}`),
    ...(description !== null && description.trim() !== '' && { detail: shortened(inOneLine(description)) }),
    url: target_url ?? commitPageUrl(pages, repository, sha),
  }
}

function branchText({ event, repository, branch, sha, statuses, commit }: BranchDelivery, pages: string): ToldText {
  const [mark, became] = event === 'broken' ? [MARKS.failure, 'is broken'] : [MARKS.success, 'is fixed']
  const failed = event === 'broken' ? `: ${named(statuses.map(({ context }) => context))} failed` : ''
  return {
    sentence: inOneLine(`${mark} ${repository.full} ${branch} ${became} at ${short(sha)}${failed}`),
    ...(commit && { detail: commitDetail(commit) }),
    url: commitPageUrl(pages, repository, sha),
  }
}

function pushText({ repository, push, forced, total, head }: PushDelivery, pages: string): ToldText {
  const { ref, before, after, pusher } = push
  const name = ref.startsWith(TAGS) ? `the tag ${ref.slice(TAGS.length)}` : ref.slice(HEADS.length)
  const came = total === 0 ? '' : `, ${total} ${total === 1 ? 'commit' : 'commits'}`
  const did = isNothing(after)
    ? `deleted ${name}, which was at ${short(before)}`
    : isNothing(before)
      ? `made ${name} at ${short(after)}${came}`
      : `${forced ? 'forced' : 'pushed'} ${name} from ${short(before)} to ${short(after)}${came}`
  return {
    sentence: inOneLine(`↑ ${repository.full}: ${pusher} ${did}`),
    ...(head && { detail: commitDetail(head), url: commitPageUrl(pages, repository, head.id) }),
  }
}

function commitDetail({ message, author }: DeliveredCommit): string {
  const [subject = ''] = message.split('\n')
  return shortened(inOneLine(`${subject} (${author.name})`))
}

function pingText({ hook }: PingDelivery): ToldText {
  return { sentence: `${MARKS.success} commit-status reaches you: hook ${hook.id} on ${hook.on}` }
}

/** As people write some names of many. */
function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${more} more` : names.join(', ')
}

export function short(sha: string): string {
  return sha.slice(0, 8)
}

export function shortened(text: string): string {
  const characters = Array.from(text)
  return characters.length > MAX_DETAIL ? `${characters.slice(0, MAX_DETAIL - 1).join('')}…` : text
}

/** Without what would begin another line, or steers how the rest is shown. */
export function inOneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, '\ufffd')
    .trim()
}

/**
 * A text that is a text in Slack's markup, and in Markdown. An invisible space stands behind what would begin a mention
 * in a chat, whether or not it reads Slack's `&lt;`, and within what would be a link under other words.
 */
function defused(text: string): string {
  const split = text.replaceAll(/[@<]|\](?=\()/g, '$&\u200b')
  return split.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** What fits of a text that is defused, without a piece of what stands for one character. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/(?:&\w*|[\ud800-\udbff])$/, '')}…`
}

/** An address that mentions nobody and ends where it ends. */
function chatUrl(url: string): string {
  const { origin, pathname, search, hash } = new URL(url)
  return origin + `${pathname}${search}${hash}`.replaceAll('@', '%40').replaceAll('|', '%7C').replaceAll('>', '%3E')
}
