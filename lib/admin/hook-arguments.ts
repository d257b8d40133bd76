import { HOOK_EVENTS, HOOK_FORMATS, type HookRecord } from '../contracts/hooks.js'
import { STATES } from '../domain/commit-status.js'
import { HEADS } from '../domain/push.js'
import { isOwnerName } from '../domain/repository-name.js'
import { isPattern, PATTERN_RULE } from '../domain/verdict/pattern.js'
import { ArgumentError, errorMessage } from '../errors.js'
import { isRefName } from '../git/ref-name.js'
import { parsePush, type SentPush } from '../service/pushes.js'
import { isMailto } from '../webhooks/mail-addresses.js'
import { checkRepository, ID } from './arguments.js'

/** What an admin asks for with a new hook. */
export interface HookRequest {
  /** `owner/repo`, `owner/*` or `*` */
  readonly on: string
  readonly url: string
  readonly format: string
  /** Absent: `status`, and of a mail `broken` and `fixed`. */
  readonly events?: readonly string[]
  readonly contexts?: readonly string[]
  readonly states?: readonly string[]
  readonly branches?: readonly string[]
  /** One that the receiver dictates; absent: one is made. */
  readonly secret?: string
}

const [MAX_URL, MAX_PATTERNS] = [2048, 100]

/** What people can paste; long enough for nobody to guess it, short enough for every receiver. */
const SECRET = /^[\x21-\x7e]{16,256}$/

/** What a new hook is to be. @param check throws what is wrong with an address */
export function hookFields(
  request: HookRequest,
  check: (address: string) => void,
): Pick<HookRecord, 'on' | 'url' | 'format' | 'events' | 'contexts' | 'states' | 'branches'> {
  const { contexts, states, branches } = request
  const url = checkUrl(request.url, check)
  const isMail = isMailto(url)
  const events = oneOfEach('event', HOOK_EVENTS, request.events ?? (isMail ? ['broken', 'fixed'] : ['status']))
  if (isMail && events.some((event) => event === 'status' || event === 'push'))
    throw new ArgumentError('a mail is sent for the events broken and fixed alone')
  if ((contexts ?? states) && events.every((event) => event === 'push'))
    throw new ArgumentError('a push has no context and no state')
  for (const pattern of [...some('contexts', contexts), ...some('branches', branches)])
    if (!isPattern(pattern)) throw new ArgumentError(`${JSON.stringify(pattern)} is no pattern: ${PATTERN_RULE}`)
  for (const pattern of branches ?? [])
    if (!isRefName(HEADS + pattern.replaceAll('*', 'x')))
      throw new ArgumentError(`${JSON.stringify(pattern)} fits the name of no branch`)
  return {
    ...{ on: checkOn(request.on), url, format: oneOf('format', HOOK_FORMATS, request.format), events },
    ...(contexts && { contexts }),
    ...(states && { states: oneOfEach('state', STATES, states) }),
    ...(branches && { branches }),
  }
}

export function checkHookId(id: string): string {
  if (!ID.test(id)) throw new ArgumentError(`${JSON.stringify(id)} is no id of a hook, as hook list shows it`)
  return id
}

export function checkPush(push: SentPush): SentPush {
  try {
    return parsePush(push)
  } catch (cause) {
    throw new ArgumentError(errorMessage(cause), { cause })
  }
}

/** Without repeating it: it may be a secret. */
export function checkSecret(secret: string): string {
  if (!SECRET.test(secret)) throw new ArgumentError('a secret has 16 to 256 characters of ASCII, without spaces')
  return secret
}

/** When something began: ISO 8601, in a year of four digits, so that times compare as texts. */
export function checkTime(text: string): string {
  const time = new Date(text)
  if (Number.isNaN(time.getTime()) || !/^\d{4}-/.test(time.toISOString())) throw new ArgumentError(`${text} is no time`)
  return time.toISOString()
}

function checkOn(on: string): string {
  const owner = /^(.*)\/\*$/.exec(on)?.[1]
  if (on === '*' || (owner !== undefined && isOwnerName(owner))) return on
  return checkRepository(on).full
}

function checkUrl(url: string, check: (address: string) => void): string {
  if (url.length > MAX_URL) throw new ArgumentError(`the address must have ${MAX_URL} characters at most`)
  try {
    check(url)
  } catch (cause) {
    throw new ArgumentError(errorMessage(cause), { cause })
  }
  return url
}

function some(what: string, patterns: readonly string[] | undefined): readonly string[] {
  if (patterns && (patterns.length === 0 || patterns.length > MAX_PATTERNS))
    throw new ArgumentError(`a hook has a list of 1 to ${MAX_PATTERNS} ${what}, or none`)
  return patterns ?? []
}

function oneOfEach<T extends string>(what: string, known: readonly T[], given: readonly string[]): T[] {
  if (given.length === 0) throw new ArgumentError(`a hook has one ${what} at least`)
  return [...new Set(given)].map((text) => oneOf(what, known, text))
}

function oneOf<T extends string>(what: string, known: readonly T[], given: string): T {
  const found = known.find((text) => text === given)
  if (found === undefined)
    throw new ArgumentError(`there is no ${what} ${JSON.stringify(given)}: it is one of ${known.join(', ')}`)
  return found
}
