/** A value as it stands in a settings file. */
export type SettingValue = string | number | readonly string[]

/** One setting: the single place where its name, default and rule are written down. */
export interface Setting {
  /** Its name in the settings file and in the options of the library; a dot stands for a nested object. */
  readonly key: string
  readonly environment: `COMMIT_STATUS_${string}`
  readonly default: SettingValue
  /** JSON schema of the value. */
  readonly rule: { readonly type: 'string' | 'integer' | 'array'; readonly [keyword: string]: unknown }
  /** For the README and `serve --help`. */
  readonly meaning: string
}

/** Every setting. Relative paths: of a default, below this folder's parent; of a file, below the file's folder; of the environment, below the working directory. */
export const settings: readonly Setting[] = Object.freeze([
  {
    key: 'host',
    environment: 'COMMIT_STATUS_HOST',
    default: '127.0.0.1',
    rule: { type: 'string', minLength: 1, maxLength: 255 },
    meaning: 'address to listen on',
  },
  {
    key: 'port',
    environment: 'COMMIT_STATUS_PORT',
    default: 8080,
    rule: { type: 'integer', minimum: 0, maximum: 65535 },
    meaning: 'port to listen on; 0: any free one',
  },
  {
    key: 'repositories',
    environment: 'COMMIT_STATUS_REPOSITORIES',
    default: './data/repositories',
    rule: { type: 'string', minLength: 1, maxLength: 4096 },
    meaning: 'folder of the bare repositories, `<owner>/<repo>.git`',
  },
  {
    key: 'store',
    environment: 'COMMIT_STATUS_STORE',
    default: 'level:./data/store',
    rule: { type: 'string', pattern: '^level:.', maxLength: 4096 },
    meaning: '`level:` and the folder of the store',
  },
  {
    key: 'trustedProxies',
    environment: 'COMMIT_STATUS_TRUSTED_PROXIES',
    default: [],
    rule: { type: 'array', items: { type: 'string', format: 'address-or-cidr' }, maxItems: 1000 },
    meaning: 'proxies whose `X-Forwarded-For` is believed: addresses or CIDR ranges, comma-separated in the environment',
  },
  {
    key: 'tokenPrefix',
    environment: 'COMMIT_STATUS_TOKEN_PREFIX',
    default: 'cst',
    rule: { type: 'string', pattern: '^[a-z][a-z0-9]{1,15}$' },
    meaning: 'what every token begins with, before the `_`',
  },
  {
    key: 'authFailures.limit',
    environment: 'COMMIT_STATUS_AUTH_FAILURE_LIMIT',
    default: 20,
    rule: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    meaning: 'failed log-ins a client may make in a window',
  },
  {
    key: 'authFailures.windowSeconds',
    environment: 'COMMIT_STATUS_AUTH_FAILURE_WINDOW_SECONDS',
    default: 600,
    rule: { type: 'integer', minimum: 1, maximum: 604_800 },
    meaning: 'length of that window in seconds, from the first failure',
  },
  {
    key: 'logLevel',
    environment: 'COMMIT_STATUS_LOG_LEVEL',
    default: 'info',
    rule: { type: 'string', enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] },
    meaning: 'the least severe log lines to write; `debug` has a line for each request',
  },
] satisfies Setting[])
