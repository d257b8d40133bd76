import type { IncomingMessage } from 'node:http'
import { MAX_TITLE, objectSchema, schemasOf, settings } from '../../config/settings.js'
import type { RetentionRule } from '../admin/retention.js'
import { isOfApi, leadsToApi } from '../http/api-paths.js'
import { isAddressOrRange, isTrustedProxy } from '../http/client-address.js'
import type { CompatibleApiName } from '../http/compatible/apis.js'
import { isPathWithoutDoubleSlash } from '../http/public-address.js'
import type { AccessPolicy } from '../contracts/access-policy.js'
import type { Authenticator } from '../contracts/authenticator.js'
import type { Clock } from '../contracts/clock.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import type { Logger } from '../contracts/logger.js'
import type { Repositories } from '../contracts/repositories.js'
import { meant } from '../domain/closest.js'
import { isOwnerName } from '../domain/repository-name.js'
import type { Store } from '../contracts/store.js'
import { ruleText, Schema, type SchemaError } from '../domain/schema.js'
import { isCommitUrl } from '../pages/commit-url.js'
import { isStoreAddress } from '../store/address.js'
import { shownValue } from './shown-value.js'

/** Pages in a host, which identifies the visitor. */
export interface HostPages {
  /** What the addresses of pages begin with, `/status` for one; default: nothing. */
  readonly base?: string
  /**
   * The user whose session a request has, as the host knows it; `undefined` for nobody. One whose name breaks the rules
   * of owners' names, or is `host`, is refused with 403.
   */
  session(request: IncomingMessage): string | undefined | Promise<string | undefined>
  /** Where to sign in; `{return}` in it becomes the path of the page that one comes from. */
  readonly signInUrl?: string
  /** What the pages are called, in the header and in the title of every one. Default: `Commit statuses`. */
  readonly title?: string
  /**
   * Where the host shows a commit, `https://git.example.com/{repo}/commit/?id={id}` or `/{repo}/commit/{id}`: the pages
   * link there. Default: nowhere.
   */
  readonly commitUrl?: string
}

/** Options of the library: the settings of the same names, or a part of the host in their place. */
export interface CommitStatusOptions {
  /** Folder of the bare repositories; or the host's own way to find them. */
  readonly repositories: string | Repositories
  /** Owner of the repositories at the top of that folder: `project.git` there is `git/project`. Default: `git`. */
  readonly topOwner?: string
  /**
   * `level:` and a folder, or `postgres://…`, the URL of a database; or the host's own store, which `close()` closes
   * too.
   */
  readonly store: string | Store
  /** Proxies whose `X-Forwarded-For` is believed: addresses, CIDR ranges, or `unix` (Unix sockets). Default: none. */
  readonly trustedProxies?: readonly string[]
  /** What every token begins with, before the `_`. Default: `cst`. */
  readonly tokenPrefix?: string
  /** Failed log-ins a client may make (default 20) in a window of seconds (default 600); or the host's own budget. */
  readonly authFailures?: { readonly limit?: number; readonly windowSeconds?: number } | FailureBudget
  /**
   * Requests in progress (default 1000); those above are answered with 503 at once. One that still sends its body is
   * not counted. Contexts of a commit (default 1000); a report that would add one more is answered with 422. Tokens
   * of a user (default 100); one more takes the place of one that has expired, and is refused where there is none.
   * Requests that wait for a change or follow a repository (default 10,000), and how long one may wait, in seconds
   * (default 30, 0: nobody waits).
   */
  readonly limits?: {
    readonly requests?: number
    readonly contexts?: number
    readonly tokens?: number
    readonly waits?: number
    readonly waitSeconds?: number
  }
  /** Memory for what is read again and again: lists, commits, tokens and grants. Default: 64 megabytes. */
  readonly cache?: { readonly megabytes?: number }
  /**
   * Statuses that are removed once a day, where `store` and `repositories` are no parts of the host; those of which any
   * of this is so. Default: `off`.
   */
  readonly retention?: 'off' | RetentionRule
  /**
   * Webhooks, where `store` is no part of the host: the file with the key that their secrets are made of, and addresses
   * or ranges that they may go to besides. Default: none, and nothing is ever sent.
   */
  readonly hooks?: { readonly secretFile?: string; readonly allow?: readonly string[] }
  /** Mails of webhooks: an SMTP server and the address that they are from. Default: none. */
  readonly mail?: { readonly server?: string; readonly sender?: string }
  /** APIs of others that the handler answers too, each under paths of its own. Default: none. */
  readonly compatibleApis?: readonly CompatibleApiName[]
  /** Hosts, with a port or for every port, whose `/api/v1` is Gitea's. Default: none. */
  readonly giteaHosts?: readonly string[]
  /** Where people and clients see the service: what links begin with. Default: what the client has called. */
  readonly publicUrl?: string
  /** Who a token speaks for. Default: the tokens of the store. */
  readonly authenticator?: Authenticator
  /** What users may do. Default: the owner, and the grants of the store. */
  readonly accessPolicy?: AccessPolicy
  /** Pages for people, beside the API; the host identifies the visitor. Default: none. */
  readonly pages?: HostPages
  /** Whether to measure, for `metrics()`. Default: false. */
  readonly metrics?: boolean
  /**
   * Whether commands may reach this service, through a socket in the folder of its LevelDB store that only the user of
   * this process, and root, can open. Default: true.
   */
  readonly commands?: boolean
  /** Where log lines go. Default: nowhere. */
  readonly logger?: Logger
  /** Default: the system's. */
  readonly clock?: Clock
}

/** Methods that identify an object as a part of the host (duck typing). */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  repositories: ['find'],
  store: ['unavailableReason', 'renameRepository', 'deleteRepository', 'close'],
  'store.statuses': ['save', 'list', 'scan'],
  'store.tokens': ['get', 'add', 'remove', 'list', 'noteUse'],
  'store.grants': ['of', 'set', 'remove', 'list'],
  authFailures: ['retryAfter', 'recordFailure'],
  pages: ['session'],
  authenticator: ['authenticate'],
  accessPolicy: ['access'],
  logger: ['debug', 'info', 'warn', 'error'],
  clock: ['now'],
}

/** What else only the library has. */
const SWITCHES = { metrics: { type: 'boolean' }, commands: { type: 'boolean' } } as const

/** What is no part: the settings that are options too, and what only the library has. */
const options = settings.filter(({ isOption }) => isOption)
const values = new Schema<object>(objectSchema({ ...schemasOf(options, false), ...SWITCHES }, false), {
  formats: {
    'trusted-proxy': isTrustedProxy,
    'address-or-cidr': isAddressOrRange,
    'path-without-//': isPathWithoutDoubleSlash,
    'store-address': isStoreAddress,
    'owner-name': isOwnerName,
  },
})

/** Of every option, nested ones with a dot. */
const NAMES = [
  ...options.flatMap(({ key }) => [key, key.replace(/\..*/, '')]),
  ...Object.keys(PARTS).filter((name) => !name.includes('.')),
  ...Object.keys(SWITCHES),
]

/**
 * Refuses options that cannot work.
 * @throws TypeError that names the option
 */
export function checkOptions(given: unknown): void {
  if (!isObject(given)) throw new TypeError('createCommitStatusService takes an object of options')
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const name of ['repositories', 'store']) {
    if (!entries.some(([key]) => key === name)) {
      throw new TypeError(`createCommitStatusService needs the option ${name}`)
    }
  }
  const others = entries.filter(([name, value]) => !isPart(name, value))
  checkPages(Reflect.get(given, 'pages'))
  if (!values.is(Object.fromEntries(others))) throw new TypeError(values.errors.map(describeError).join(', '))
  const parts = ['repositories', 'store'].filter((name) => isObject(Reflect.get(given, name)))
  if (isObject(Reflect.get(given, 'retention')) && parts.length > 0)
    throw new TypeError(
      `createCommitStatusService: the option retention needs ${parts.join(' and ')} of its own, not of the host`,
    )
}

/** What the pages have besides a method. */
function checkPages(pages: unknown): void {
  if (!isObject(pages)) return
  const base: unknown = Reflect.get(pages, 'base') ?? ''
  if (typeof base !== 'string' || !/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*$/.test(base))
    throw new TypeError(
      'createCommitStatusService: the option pages.base must be like /status, without a slash at its end',
    )
  if (base !== '' && (isOfApi(base) || leadsToApi(base)))
    throw new TypeError(`createCommitStatusService: the option pages.base cannot be ${base}, which the APIs are under`)
  const url: unknown = Reflect.get(pages, 'signInUrl') ?? '/'
  if (typeof url !== 'string' || !/^(?:https?:\/)?\//.test(url))
    throw new TypeError(
      'createCommitStatusService: the option pages.signInUrl must be an http or https address, or a path',
    )
  const title: unknown = Reflect.get(pages, 'title') ?? 'x'
  if (typeof title !== 'string' || title === '' || title.length > MAX_TITLE)
    throw new TypeError(`createCommitStatusService: the option pages.title must be a text of 1 to ${MAX_TITLE} letters`)
  const commitUrl: unknown = Reflect.get(pages, 'commitUrl') ?? ''
  if (typeof commitUrl !== 'string' || !isCommitUrl(commitUrl))
    throw new TypeError(
      'createCommitStatusService: the option pages.commitUrl must be an http or https address, or a path, with {id} ' +
        'for the id of a commit and {repo} for owner/repo',
    )
}

/** Whether a value takes the place of a part. */
function isPart(name: string, value: unknown): boolean {
  const methods = PARTS[name]
  if (!methods) return false
  const fits = isObject(value) && methods.every((method) => typeof Reflect.get(value, method) === 'function')
  if (!fits) {
    if (options.some(({ key }) => key.replace(/\..*/, '') === name)) return false
    throw new TypeError(`createCommitStatusService: the option ${name} must be ${objectWith(methods)}`)
  }
  const inner = Object.keys(PARTS).filter((key) => key.startsWith(`${name}.`))
  for (const key of inner) isPart(key, Reflect.get(value, key.slice(name.length + 1)))
  return true
}

function describeError(error: SchemaError): string {
  const { instancePath, keyword, params } = error
  const [name = '', ...rest] = instancePath.slice(1).split('/')
  if (keyword === 'additionalProperties') {
    const unknown = [name, ...rest, String(params['additionalProperty'])].filter(Boolean).join('.')
    return `createCommitStatusService has no option ${unknown}${meant(unknown, NAMES)}`
  }
  const key = [name, ...rest].join('.')
  const methods = rest.length === 0 ? PARTS[name] : undefined
  const or = methods ? ` or be ${objectWith(methods)}` : ''
  return `createCommitStatusService: the option ${key} ${ruleText(error)}${or}; got ${shownValue(key, error.data)}`
}

function objectWith(methods: readonly string[]): string {
  return `an object with ${methods.map((method) => `${method}()`).join(', ')}`
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
