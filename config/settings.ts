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
    rule: { type: 'string', pattern: '^(?:level:.|postgres(?:ql)?://.)', maxLength: 4096 },
    meaning: '`level:` and the folder of the store, or `postgres://…`, the URL of a database for several machines',
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
    key: 'limits.requests',
    environment: 'COMMIT_STATUS_LIMIT_REQUESTS',
    default: 1000,
    rule: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    meaning: 'requests in progress; those above get 503 at once. One that still sends its body is not counted',
  },
  {
    key: 'limits.connections',
    environment: 'COMMIT_STATUS_LIMIT_CONNECTIONS',
    default: 10_000,
    rule: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    meaning: 'open connections; those above are closed at once',
  },
  {
    key: 'limits.headersSeconds',
    environment: 'COMMIT_STATUS_LIMIT_HEADERS_SECONDS',
    default: 10,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds in which the headers of a request must arrive',
  },
  {
    key: 'limits.requestSeconds',
    environment: 'COMMIT_STATUS_LIMIT_REQUEST_SECONDS',
    default: 30,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds in which a whole request must arrive',
  },
  {
    key: 'limits.responseSeconds',
    environment: 'COMMIT_STATUS_LIMIT_RESPONSE_SECONDS',
    default: 30,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds after which a client that takes nothing of its answer is cut off',
  },
  {
    key: 'limits.keepAliveSeconds',
    environment: 'COMMIT_STATUS_LIMIT_KEEP_ALIVE_SECONDS',
    default: 75,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds a connection stays open without a request; should be longer than in the proxy before it',
  },
  {
    key: 'limits.headerBytes',
    environment: 'COMMIT_STATUS_LIMIT_HEADER_BYTES',
    default: 16_384,
    rule: { type: 'integer', minimum: 1024, maximum: 1_048_576 },
    meaning: 'size of the headers of a request',
  },
  {
    key: 'limits.unsentBytes',
    environment: 'COMMIT_STATUS_LIMIT_UNSENT_BYTES',
    default: 268_435_456,
    rule: { type: 'integer', minimum: 1_048_576, maximum: 68_719_476_736 },
    meaning: 'bytes of answers that wait for slow clients, over all connections; beyond it, who has kept us waiting longest is cut off',
  },
  {
    key: 'limits.closeSeconds',
    environment: 'COMMIT_STATUS_LIMIT_CLOSE_SECONDS',
    default: 4,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds that requests under way may take to finish when the service is told to stop',
  },
  {
    key: 'metrics',
    environment: 'COMMIT_STATUS_METRICS',
    default: 'off',
    rule: { type: 'string', pattern: '^(?:off|main|.+:[0-9]{1,5})$', maxLength: 300 },
    meaning: 'where `GET /metrics` answers, for Prometheus: `off`, `main` (beside the API, for everybody), or an address and port of its own, `127.0.0.1:9090`',
  },
  {
    key: 'logLevel',
    environment: 'COMMIT_STATUS_LOG_LEVEL',
    default: 'info',
    rule: { type: 'string', enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] },
    meaning: 'the least severe log lines to write; `debug` has a line for each request',
  },
] satisfies Setting[])
