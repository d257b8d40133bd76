import { settings, type Setting } from '../config/settings.js'
import type { AccessPolicy } from './access.js'
import type { Authenticator } from './auth/authenticator.js'
import type { FailureBudget } from './auth/failure-budget.js'
import type { Clock } from './clock.js'
import type { Repositories } from './git/repositories.js'
import { isTrustedProxy } from './http/client-address.js'
import type { Logger } from './logger.js'
import { Schema } from './schema.js'
import type { Store } from './store/store.js'

/** Options of the library: the settings of the same names, or a part of the host in their place. */
export interface CommitStatusOptions {
  /** Folder of the bare repositories, `<owner>/<repo>.git`; or the host's own way to find them. */
  readonly repositories: string | Repositories
  /** `level:` and a folder, or `postgres://…`, the URL of a database; or the host's own store, which `close()` closes too. */
  readonly store: string | Store
  /** Proxies whose `X-Forwarded-For` is believed: addresses or CIDR ranges. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** What every token begins with, before the `_`. Default: `cst`. */
  readonly tokenPrefix?: string
  /** Failed log-ins a client may make (default 20) in a window of seconds (default 600); or the host's own budget. */
  readonly authFailures?: { readonly limit?: number; readonly windowSeconds?: number } | FailureBudget
  /** Requests in progress (default 1000); those above are answered with 503 at once. One that still sends its body is not counted. */
  readonly limits?: { readonly requests?: number }
  /** Who a token speaks for. Default: the tokens of the store. */
  readonly authenticator?: Authenticator
  /** What users may do. Default: the owner, and the grants of the store. */
  readonly accessPolicy?: AccessPolicy
  /** Whether to measure, for `metrics()`. Default: false. */
  readonly metrics?: boolean
  /** Where log lines go. Default: nowhere. */
  readonly logger?: Logger
  /** Default: the system's. */
  readonly clock?: Clock
}

/** The methods by which a part of the host is told from something else. */
const PARTS = {
  repositories: ['find'],
  store: ['trouble', 'renameRepository', 'deleteRepository', 'close'],
  authFailures: ['retryAfter', 'recordFailure'],
  authenticator: ['authenticate'],
  accessPolicy: ['access'],
  logger: ['debug', 'info', 'warn', 'error'],
  clock: ['now'],
} as const

/** The settings that are options too: not those of the server, which is the host's own. */
const VALUES = settings.filter(({ key }) => /^(?:repositories|store|trustedProxies|tokenPrefix|authFailures\..*|limits\.requests)$/.test(key))

/**
 * Refuses options that cannot work.
 * @throws TypeError that names the option
 */
export function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) throw new TypeError('createCommitStatusService takes an object of options')
  const given = new Map(Object.entries(options).filter(([, value]) => value !== undefined))
  for (const name of given.keys()) {
    if (!(name in PARTS) && name !== 'metrics' && rulesOf(name).length === 0) throw new TypeError(`createCommitStatusService has no option ${name}`)
  }
  for (const name of ['repositories', 'store']) {
    if (!given.has(name)) throw new TypeError(`createCommitStatusService needs the option ${name}`)
  }
  for (const [name, value] of given) checkOption(name, value)
}

function checkOption(name: string, value: unknown): void {
  if (name === 'metrics') {
    if (typeof value !== 'boolean') throw wrong(name, 'must be boolean', [])
    return
  }
  const methods = Object.entries(PARTS).find(([part]) => part === name)?.[1] ?? []
  if (methods.length > 0 && hasMethods(value, methods)) {
    if (name === 'store') checkStore(value)
    return
  }
  const rules = rulesOf(name)
  for (const { key, rule } of rules) {
    const inner = key === name ? value : isObject(value) ? (Reflect.get(value, key.slice(name.length + 1)) as unknown) : null
    const schema = new Schema(rule, { formats: { 'address-or-cidr': isTrustedProxy } })
    if (inner !== undefined && !schema.is(inner)) throw wrong(key, schema.errors.map(({ instancePath, message }) => `${instancePath} ${message}`.trim()).join(', '), methods)
  }
  const known = rules.map(({ key }) => key.slice(name.length + 1))
  const unknown = isObject(value) && !Array.isArray(value) ? Object.keys(value).find((key) => !known.includes(key)) : undefined
  if (unknown !== undefined && rules.length > 0) throw new TypeError(`createCommitStatusService has no option ${name}.${unknown}`)
  if (rules.length === 0) throw wrong(name, 'must be', methods)
}

function rulesOf(option: string): readonly Setting[] {
  return VALUES.filter(({ key }) => key === option || key.startsWith(`${option}.`))
}

function checkStore(store: object): void {
  const inner = { statuses: ['save', 'list', 'scan'], tokens: ['get', 'add', 'remove', 'list', 'noteUse'], grants: ['of', 'set', 'remove', 'list'] }
  for (const [name, methods] of Object.entries(inner)) {
    if (!hasMethods(Reflect.get(store, name), methods)) throw wrong(`store.${name}`, 'must be', methods)
  }
}

function wrong(option: string, rule: string, methods: readonly string[]): TypeError {
  const object = methods.length > 0 ? `an object with ${methods.map((method) => `${method}()`).join(', ')}` : ''
  const or = object === '' || rule === 'must be' ? object : `or be ${object}`
  return new TypeError(`createCommitStatusService: the option ${option} ${[rule, or].filter(Boolean).join(' ')}`)
}

function hasMethods(value: unknown, methods: readonly string[]): value is object {
  return isObject(value) && methods.every((method) => typeof Reflect.get(value, method) === 'function')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
