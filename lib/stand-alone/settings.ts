import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { objectSchema, schemasOf, settings, type Setting, type SettingValue } from '../../config/settings.js'
import { errorMessage, SettingsError } from '../errors.js'
import { isAddressOrRange, isTrustedProxy } from '../http/client-address.js'
import type { RetentionRule } from '../admin/retention.js'
import type { CompatibleApiName } from '../http/compatible/apis.js'
import { isPathWithoutDoubleSlash } from '../http/public-address.js'
import { isOwnerName } from '../domain/repository-name.js'
import { isCommitUrl } from '../pages/commit-url.js'
import { meant } from '../domain/closest.js'
import { ruleText, Schema, type SchemaError } from '../domain/schema.js'
import { shownValue } from '../embedding/shown-value.js'
import { isStoreAddress } from '../store/address.js'
import type { ServerLimits } from './http-server.js'
import { isListenHost, type SocketAccess } from './unix-socket.js'

/** The settings of a stand-alone service; config/README.md says what each means. */
export interface Settings {
  /** An address, or `unix:` and an absolute path. */
  readonly host: string
  readonly port: number
  readonly socket: SocketAccess
  /** Absolute path. */
  readonly repositories: string
  /** Owns the repositories that stand at the top of that folder. */
  readonly topOwner: string
  /** `level:` and an absolute path, or the URL of a database. */
  readonly store: string
  readonly trustedProxies: readonly string[]
  readonly pages: 'on' | 'off'
  readonly title: string
  /** Empty: there is no repository browser. */
  readonly commitUrl: string
  /** Texts are empty for what is not set; the file's path is absolute. */
  readonly signIn: {
    readonly header: string
    readonly secretFile: string
    readonly url: string
    readonly command: string
  }
  /** Without a command, rights are those of owners and grants. */
  readonly rights: { readonly command: readonly string[]; readonly seconds: number }
  readonly tokenPrefix: string
  readonly authFailures: { readonly limit: number; readonly windowSeconds: number }
  readonly compatibleApis: readonly CompatibleApiName[]
  readonly giteaHosts: readonly string[]
  /** Empty: what the client has called. */
  readonly publicUrl: string
  readonly limits: ServerLimits & {
    readonly requests: number
    readonly contexts: number
    readonly tokens: number
    readonly waits: number
    readonly waitSeconds: number
  }
  readonly cache: { readonly megabytes: number }
  readonly retention: 'off' | RetentionRule
  /** The path is absolute, and empty where there are no webhooks. */
  readonly hooks: { readonly secretFile: string; readonly allow: readonly string[] }
  /** Texts are empty for what is not set. */
  readonly mail: { readonly server: string; readonly sender: string }
  /** `off`, `main`, or the host and port that they are served on. */
  readonly metrics: string
  readonly logLevel: string
}

/** Variables with the prefix that are no settings: the settings file, and what a CI agent reports with. */
const OTHER_VARIABLES = ['COMMIT_STATUS_CONFIG', 'COMMIT_STATUS_TOKEN', 'COMMIT_STATUS_URL']

/** What stands before a path, in settings that need not have one. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['host', 'unix:'],
  ['store', 'level:'],
])

type Tree = { [key: string]: SettingValue | Tree }

export const schema = objectSchema(schemasOf(settings, true), true)

const valid = new Schema<Settings>(schema, {
  formats: {
    'listen-host': isListenHost,
    'trusted-proxy': isTrustedProxy,
    'address-or-cidr': isAddressOrRange,
    'path-without-//': isPathWithoutDoubleSlash,
    'metrics-address': isMetricsAddress,
    'commit-url': isCommitUrl,
    'owner-name': isOwnerName,
    'store-address': isStoreAddress,
  },
})

/** What settings are put together of. */
export interface SettingsSources {
  readonly environment: NodeJS.ProcessEnv
  /** What relative paths of the defaults are below. */
  readonly home: string
  /** The working directory. */
  readonly directory: string
  /** JSON file; absent: the one that COMMIT_STATUS_CONFIG names, empty: none. */
  readonly file?: string
  /** File that is read where it exists and none is named. */
  readonly usualFile?: string
}

/** Settings, and who says so. */
export interface GivenSettings {
  readonly settings: Settings
  /** Absolute path of the file that was read, if one was. */
  readonly file: string | undefined
  /** By the key of a setting: the path of the file, or the variable, that gives it; none for a default. */
  readonly from: ReadonlyMap<string, string>
}

/** The settings alone. */
export function readSettings(sources: SettingsSources): Settings {
  return readGivenSettings(sources).settings
}

/**
 * Puts the settings together: defaults, then the file, then the environment.
 * @throws SettingsError for a file that cannot be read, an unknown key or a value that breaks its rule
 */
export function readGivenSettings({ environment, home, directory, ...files }: SettingsSources): GivenSettings {
  const named = files.file ?? environment['COMMIT_STATUS_CONFIG']
  const path = named === undefined ? files.usualFile : named === '' ? undefined : resolve(directory, named)
  const content = path === undefined ? undefined : readFile(path, named === undefined)
  const from = new Map<string, string>()
  const tree: Tree = {}
  for (const setting of settings) put(tree, setting.key, below(home, setting, setting.default))
  if (path !== undefined && content) {
    merge(tree, content, dirname(path))
    check(tree, path)
    for (const { key } of settings) if (has(content, key.split('.'))) from.set(key, path)
  }
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('COMMIT_STATUS_') || text === undefined || OTHER_VARIABLES.includes(name)) continue
    const setting = settings.find((candidate) => candidate.environment === name)
    if (!setting) {
      const variables = [...settings.map((known) => known.environment), ...OTHER_VARIABLES]
      throw new SettingsError(
        `unknown setting ${name} = ${shownValue(name, text)}: no setting has this variable${meant(name, variables)}`,
      )
    }
    check(put(tree, setting.key, below(directory, setting, fromText(setting, text))), name)
    from.set(setting.key, name)
  }
  return { settings: check(tree, 'default'), file: content && path, from }
}

function has(content: Tree, [first = '', ...rest]: readonly string[]): boolean {
  if (!Object.hasOwn(content, first)) return false
  const inner = content[first]
  return rest.length === 0 || (isTree(inner) && has(inner, rest))
}

/** @param source where the latest ones come from: a variable or a file */
function check(tree: Tree, source: string): Settings {
  if (valid.is(tree)) return tree
  throw new SettingsError(valid.errors.map((error) => describeSettingsError(error, source)).join())
}

function describeSettingsError(error: SchemaError, source: string): string {
  const { instancePath, keyword, params, data } = error
  const key = instancePath.slice(1).replaceAll('/', '.')
  if (keyword === 'additionalProperties' && isTree(data)) {
    const last = String(params['additionalProperty'])
    const unknown = [key, last].filter(Boolean).join('.')
    const like = meant(
      unknown,
      settings.flatMap((setting) => [setting.key, setting.key.replace(/\..*/, '')]),
    )
    return `unknown setting ${unknown} (${source}) = ${shownValue(last, data[last])}: no setting has this name${like}`
  }
  return `bad setting ${key} (${source}) = ${shownValue(key, data)}: ${ruleText(error)}`
}

function readFile(path: string, isOptional: boolean): Tree | undefined {
  try {
    if (isOptional && !statSync(path, { throwIfNoEntry: false })) return undefined
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (isTree(content)) return content
    throw new Error('it must be a JSON object')
  } catch (cause) {
    throw new SettingsError(`the settings file ${path} cannot be read: ${withoutExcerpt(errorMessage(cause))}`)
  }
}

/** Of a text that is no JSON, V8 shows what stands around the fault: a part of a password, perhaps. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.{3})?"[^]*"(?:\.{3})?(?= is not valid JSON$)/, '')
}

/** Whatever else is in it is the schema's to judge. */
function isTree(content: unknown): content is Tree {
  return typeof content === 'object' && content !== null && !Array.isArray(content)
}

function merge(tree: Tree, from: Tree, folder: string, path: readonly string[] = []): void {
  for (const [name, value] of Object.entries(from)) {
    // Not what the file may name and every object inherits: `__proto__`.
    const inner = Object.hasOwn(tree, name) ? tree[name] : undefined
    const setting = settings.find(({ key }) => key === [...path, name].join('.'))
    if (isTree(value) && isTree(inner)) merge(inner, value, folder, [...path, name])
    else
      Object.defineProperty(tree, name, {
        value: setting ? below(folder, setting, value) : value,
        enumerable: true,
        writable: true,
        configurable: true,
      })
  }
}

/** Settings that are paths. */
const PATHS = ['repositories', 'signIn.secretFile', 'hooks.secretFile']

/** Makes the paths among the settings absolute. */
function below<T>(folder: string, { key }: Setting, value: T): T | string {
  if (typeof value !== 'string' || value === '') return value
  if (PATHS.includes(key)) return resolve(folder, value)
  const prefix = PREFIXES.get(key)
  return prefix !== undefined && value.startsWith(prefix) && value !== prefix
    ? `${prefix}${resolve(folder, value.slice(prefix.length))}`
    : value
}

function put(tree: Tree, key: string, value: SettingValue | Tree): Tree {
  const [first = '', ...rest] = key.split('.')
  const inner = tree[first]
  if (rest.length === 0) tree[first] = value
  else tree[first] = put(isTree(inner) ? inner : {}, rest.join('.'), value)
  return tree
}

/** A text that does not fit its type is left for the schema to refuse. */
function fromText({ rule, separator }: Setting, text: string): SettingValue | Tree {
  if (rule.type === 'integer') return /^\d+$/.test(text) ? Number(text) : text
  if (rule.type === 'array')
    return text
      .split(separator ?? ',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  return rule.type === 'string' ? text : (objectOf(text) ?? text)
}

/** The object that a text is as JSON. */
function objectOf(text: string): Tree | undefined {
  try {
    const content: unknown = JSON.parse(text)
    return isTree(content) ? content : undefined
  } catch {
    return undefined
  }
}

/** `off`, `main`, or a host and a port. */
function isMetricsAddress(text: string): boolean {
  const [, port] = /^.+:(\d{1,5})$/.exec(text) ?? []
  return text === 'off' || text === 'main' || (port !== undefined && Number(port) <= 65_535)
}
