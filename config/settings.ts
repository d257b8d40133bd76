/** A value as it stands in a settings file. */
export type SettingValue = string | number | readonly string[]

/** A word or an object has its object in the environment as JSON. */
type SettingType = 'string' | 'integer' | 'array' | readonly ['string', 'object']

/** One setting: the single place where its name, default and rule are written down. */
export interface Setting {
  /** Its name in the settings file and in the options of the library; a dot stands for a nested object. */
  readonly key: string
  readonly environment: `COMMIT_STATUS_${string}`
  readonly default: SettingValue
  /** JSON schema of the value; a message says what its description says, in place of a pattern or a format. */
  readonly rule: { readonly type: SettingType; readonly [keyword: string]: unknown }
  /** For the pages and `serve --help`. */
  readonly meaning: string
  /** What stands between the words of a list in the environment; absent: a comma. */
  readonly separator?: ' '
  /** Whether it is an option of the library too; the others are about the server, which is the host's own. */
  readonly isOption?: true
}

/** Characters of what the pages are called: as a setting, and as an option of the library. */
export const MAX_TITLE = 60

const table = [
  {
    key: 'host',
    environment: 'COMMIT_STATUS_HOST',
    default: '127.0.0.1',
    rule: {
      type: 'string',
      description: 'an address, or unix: and the path of a socket, of at most 107 bytes',
      format: 'listen-host',
      minLength: 1,
      maxLength: 255,
    },
    meaning: 'address to listen on, or a Unix socket, `unix:/run/commit-status/http.sock`',
  },
  {
    key: 'port',
    environment: 'COMMIT_STATUS_PORT',
    default: 8080,
    rule: { type: 'integer', minimum: 0, maximum: 65535 },
    meaning: 'port to listen on; 0: any free one',
  },
  {
    key: 'socket.mode',
    environment: 'COMMIT_STATUS_SOCKET_MODE',
    default: '0660',
    rule: { type: 'string', description: 'an octal mode, 0660', pattern: '^0?[0-7]{3}$' },
    meaning: 'mode of that Unix socket: who can write to it can connect',
  },
  {
    key: 'socket.group',
    environment: 'COMMIT_STATUS_SOCKET_GROUP',
    default: '',
    rule: { type: 'string', description: 'the name or number of a group', pattern: '^[\\w.-]*$', maxLength: 100 },
    meaning: "group of that Unix socket, by name or number, one that the service is in; empty: the service's own",
  },
  {
    key: 'repositories',
    environment: 'COMMIT_STATUS_REPOSITORIES',
    default: './data/repositories',
    rule: { type: 'string', minLength: 1, maxLength: 4096 },
    meaning: 'folder of the bare repositories',
    isOption: true,
  },
  {
    key: 'topOwner',
    environment: 'COMMIT_STATUS_TOP_OWNER',
    default: 'git',
    rule: { type: 'string', description: 'the name of an owner', format: 'owner-name' },
    meaning: 'owner of the repositories at the top of that folder: `project.git` there is `git/project`',
    isOption: true,
  },
  {
    key: 'store',
    environment: 'COMMIT_STATUS_STORE',
    default: 'level:./data/store',
    rule: {
      type: 'string',
      description: 'level: and a folder, or postgres://USER:PASSWORD@HOST/DATABASE',
      pattern: '^(?:level:.|postgres(?:ql)?://.)',
      format: 'store-address',
      maxLength: 4096,
    },
    meaning: '`level:` and the folder of the store, or `postgres://…`, the URL of a database for several machines',
    isOption: true,
  },
  {
    key: 'trustedProxies',
    environment: 'COMMIT_STATUS_TRUSTED_PROXIES',
    default: [],
    rule: {
      type: 'array',
      items: { type: 'string', description: 'an IP address, a range, 10.0.0.0/8, or unix', format: 'trusted-proxy' },
      maxItems: 1000,
    },
    meaning:
      'reverse proxies whose `X-Forwarded-For` is believed: addresses or CIDR ranges, separated by commas; `unix`: ' +
      'whoever connects to a Unix socket',
    isOption: true,
  },
  {
    key: 'pages',
    environment: 'COMMIT_STATUS_PAGES',
    default: 'on',
    rule: { type: 'string', enum: ['on', 'off'] },
    meaning: 'pages for people, beside the API: `on` or `off`',
  },
  {
    key: 'title',
    environment: 'COMMIT_STATUS_TITLE',
    default: 'Commit statuses',
    rule: { type: 'string', minLength: 1, maxLength: MAX_TITLE },
    meaning: 'what the pages are called, in the header and in the title of every one',
  },
  {
    key: 'commitUrl',
    environment: 'COMMIT_STATUS_COMMIT_URL',
    default: '',
    rule: {
      type: 'string',
      description: 'like https://git.example.com/{repo}/commit/?id={id}',
      format: 'commit-url',
    },
    meaning:
      'where the repository browser shows a commit, `https://git.example.com/{repo}/commit/?id={id}`, `{repo}` being ' +
      'its path without `.git`: pages link there',
  },
  {
    key: 'signIn.header',
    environment: 'COMMIT_STATUS_SIGN_IN_HEADER',
    default: '',
    rule: { type: 'string', description: 'the name of a header', pattern: '^(?:[A-Za-z][A-Za-z0-9-]{0,63})?$' },
    meaning:
      'header in which an authenticating reverse proxy of `trustedProxies` names the user, `Remote-User`; empty: ' +
      'people sign in by links that `commit-status sign-in` prints',
  },
  {
    key: 'signIn.secretFile',
    environment: 'COMMIT_STATUS_SIGN_IN_SECRET_FILE',
    default: '',
    rule: { type: 'string', maxLength: 4096 },
    meaning: 'file with what that proxy must send in `X-Proxy-Secret` besides; empty: nothing',
  },
  {
    key: 'signIn.url',
    environment: 'COMMIT_STATUS_SIGN_IN_URL',
    default: '',
    rule: {
      type: 'string',
      description: 'an http or https address, or a path',
      pattern: '^(?:$|https?://.|/)',
      maxLength: 2048,
    },
    meaning:
      'where the pages send who wants to sign in, `{return}` in it being the path of the page that they come from; ' +
      'empty: to how a link is got',
  },
  {
    key: 'signIn.command',
    environment: 'COMMIT_STATUS_SIGN_IN_COMMAND',
    default: '',
    rule: { type: 'string', description: 'a line of printable ASCII', pattern: '^[\\x20-\\x7e]*$', maxLength: 200 },
    meaning: 'line that prints a link for whoever runs it, shown to who wants to sign in: `ssh git@host sign-in`',
  },
  {
    key: 'rights.command',
    environment: 'COMMIT_STATUS_RIGHTS_COMMAND',
    default: [],
    separator: ' ',
    rule: {
      type: 'array',
      items: {
        type: 'string',
        description: 'a word without control characters',
        pattern: '^[^\\p{Cc}]+$',
        maxLength: 4096,
      },
      maxItems: 100,
      if: { minItems: 1 },
      then: { contains: { const: '{access}' }, description: 'a program and its arguments, {access} among them' },
    },
    meaning:
      'program of the git server that says who may do what, in place of owners and grants, as its words: ' +
      '`["gitolite", "access", "%", "%", "{access}", "any"]`',
  },
  {
    key: 'rights.seconds',
    environment: 'COMMIT_STATUS_RIGHTS_SECONDS',
    default: 10,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds for which an answer of that program is remembered: until then a right that was withdrawn counts',
  },
  {
    key: 'tokenPrefix',
    environment: 'COMMIT_STATUS_TOKEN_PREFIX',
    default: 'cst',
    rule: {
      type: 'string',
      description: '2 to 16 small letters and digits, a letter first',
      pattern: '^[a-z][a-z0-9]{1,15}$',
    },
    meaning: 'prefix of every token, before the `_`',
    isOption: true,
  },
  {
    key: 'authFailures.limit',
    environment: 'COMMIT_STATUS_AUTH_FAILURE_LIMIT',
    default: 20,
    rule: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    meaning: 'failed log-ins that a client may make in a window: the rate limit',
    isOption: true,
  },
  {
    key: 'authFailures.windowSeconds',
    environment: 'COMMIT_STATUS_AUTH_FAILURE_WINDOW_SECONDS',
    default: 600,
    rule: { type: 'integer', minimum: 1, maximum: 604_800 },
    meaning: 'length of that window in seconds, from the first failure',
    isOption: true,
  },
  {
    key: 'compatibleApis',
    environment: 'COMMIT_STATUS_COMPATIBLE_APIS',
    default: ['github', 'gitea', 'gitlab'],
    rule: { type: 'array', items: { type: 'string', enum: ['github', 'gitea', 'gitlab'] }, maxItems: 10 },
    meaning: 'APIs of others that are answered too, for their clients; none in the library',
    isOption: true,
  },
  {
    key: 'giteaHosts',
    environment: 'COMMIT_STATUS_GITEA_HOSTS',
    default: [],
    rule: {
      type: 'array',
      items: {
        type: 'string',
        description: 'a host name, with a port where there is one',
        pattern: '^(?:[\\w.-]+|\\[[\\da-fA-F:.]+\\])(?::\\d{1,5})?$',
        maxLength: 255,
      },
      maxItems: 100,
    },
    meaning: "host names, with a port or for every port, whose `/api/v1` is Gitea's: for Flux",
    isOption: true,
  },
  {
    key: 'publicUrl',
    environment: 'COMMIT_STATUS_PUBLIC_URL',
    default: '',
    rule: {
      type: 'string',
      description: 'an http or https address without a query, and without // in its path',
      pattern: '^(?:https?://[\\w.:\\[\\]-]+(?:/[\\w/.~%-]*)?)?$',
      format: 'path-without-//',
      maxLength: 1000,
    },
    meaning: 'where people see the service: what links begin with; without it, what the client or a trusted proxy says',
    isOption: true,
  },
  {
    key: 'limits.requests',
    environment: 'COMMIT_STATUS_LIMIT_REQUESTS',
    default: 1000,
    rule: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    meaning: 'requests in progress; those above get 503 at once. A request whose body is still arriving does not count',
    isOption: true,
  },
  {
    key: 'limits.contexts',
    environment: 'COMMIT_STATUS_LIMIT_CONTEXTS',
    default: 1000,
    rule: { type: 'integer', minimum: 1, maximum: 10_000 },
    meaning: 'contexts of a commit; a report that would add one more gets 422',
    isOption: true,
  },
  {
    key: 'limits.tokens',
    environment: 'COMMIT_STATUS_LIMIT_TOKENS',
    default: 100,
    rule: { type: 'integer', minimum: 1, maximum: 10_000 },
    meaning: 'tokens of a user; one more takes the place of one that has expired, and is refused where there is none',
    isOption: true,
  },
  {
    key: 'limits.waitSeconds',
    environment: 'COMMIT_STATUS_LIMIT_WAIT_SECONDS',
    default: 30,
    rule: { type: 'integer', minimum: 0, maximum: 300 },
    meaning:
      'longest wait that `Prefer: wait` gets, in seconds; shorter than the time-outs of the reverse proxy; 0: none',
    isOption: true,
  },
  {
    key: 'limits.waits',
    environment: 'COMMIT_STATUS_LIMIT_WAITS',
    default: 10_000,
    rule: { type: 'integer', minimum: 0, maximum: 1_000_000 },
    meaning:
      'requests that may wait for a change or follow a repository; those above are answered at once, with 503 to who ' +
      'would follow. They are not requests in progress',
    isOption: true,
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
    meaning: 'seconds after which a client that takes nothing of its answer is closed',
  },
  {
    key: 'limits.keepAliveSeconds',
    environment: 'COMMIT_STATUS_LIMIT_KEEP_ALIVE_SECONDS',
    default: 75,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'seconds an idle connection stays open; longer than in the reverse proxy before it',
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
    meaning: 'bytes of responses buffered for slow clients; above it, new requests get 503',
  },
  {
    key: 'limits.closeSeconds',
    environment: 'COMMIT_STATUS_LIMIT_CLOSE_SECONDS',
    default: 4,
    rule: { type: 'integer', minimum: 1, maximum: 3600 },
    meaning: 'grace period for requests in progress at shutdown, in seconds',
  },
  {
    key: 'cache.megabytes',
    environment: 'COMMIT_STATUS_CACHE_MEGABYTES',
    default: 64,
    rule: { type: 'integer', minimum: 1, maximum: 1_048_576 },
    meaning:
      'memory for what is read again and again, in megabytes: all caches together, beside 8 MB of LevelDB itself',
    isOption: true,
  },
  {
    key: 'retention',
    environment: 'COMMIT_STATUS_RETENTION',
    default: 'off',
    rule: {
      type: ['string', 'object'],
      description: 'off, or an object with unchangedFor, goneCommits or goneRepositories',
      pattern: '^off$',
      minProperties: 1,
      additionalProperties: false,
      properties: {
        unchangedFor: {
          type: 'string',
          description: 'a number of days or weeks, 400d or 52w',
          pattern: '^[1-9]\\d{0,4}[dw]$',
        },
        goneCommits: { type: 'boolean' },
        goneRepositories: { type: 'boolean' },
      },
    },
    meaning:
      'which statuses are removed once a day: `off`, or those of which any is so, ' +
      '`{"unchangedFor": "400d", "goneCommits": true, "goneRepositories": true}`',
    isOption: true,
  },
  {
    key: 'hooks.secretFile',
    environment: 'COMMIT_STATUS_HOOKS_SECRET_FILE',
    default: './data/hooks.secret',
    rule: { type: 'string', maxLength: 4096 },
    meaning:
      'file with the key that the secrets of webhooks are made of, for several machines the same; made when it is ' +
      'needed; empty: there are no webhooks',
    isOption: true,
  },
  {
    key: 'hooks.allow',
    environment: 'COMMIT_STATUS_HOOKS_ALLOW',
    default: [],
    rule: {
      type: 'array',
      items: { type: 'string', description: 'an IP address or a range, 10.0.0.0/8', format: 'address-or-cidr' },
      maxItems: 1000,
    },
    meaning:
      'addresses or CIDR ranges that webhooks may go to although they are link-local, of metadata services, ' +
      'multicast, reserved or translated',
    isOption: true,
  },
  {
    key: 'mail.server',
    environment: 'COMMIT_STATUS_MAIL_SERVER',
    default: '',
    rule: {
      type: 'string',
      description: 'an address with smtp:// or smtps://',
      pattern: '^(?:smtps?://.+)?$',
      maxLength: 2048,
    },
    meaning:
      'SMTP server for mails to hooks of `mailto:`, ' + '`smtp://USER:PASSWORD@mail.example.com:587`; empty: no mails',
    isOption: true,
  },
  {
    key: 'mail.sender',
    environment: 'COMMIT_STATUS_MAIL_SENDER',
    default: '',
    rule: { type: 'string', description: 'an address', pattern: '^(?:[^\\s@]+@[^\\s@]+)?$', maxLength: 320 },
    meaning: 'address that mails are from',
    isOption: true,
  },
  {
    key: 'metrics',
    environment: 'COMMIT_STATUS_METRICS',
    default: 'off',
    rule: {
      type: 'string',
      description: 'off, main, or an address like 127.0.0.1:9464',
      format: 'metrics-address',
      maxLength: 300,
    },
    meaning:
      "`GET /metrics` for Prometheus: `off`, `main` (on the API's port, for everybody) or an address, `127.0.0.1:9090`",
  },
  {
    key: 'logLevel',
    environment: 'COMMIT_STATUS_LOG_LEVEL',
    default: 'info',
    rule: { type: 'string', enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] },
    meaning: 'lowest level of log lines to write; `debug` has a line for each request',
  },
] as const satisfies readonly Setting[]

/**
 * Every setting. Relative paths: of a default, below this folder's parent; of a file, below the file's folder; of the
 * environment, below the working directory.
 */
export const settings: readonly Setting[] = Object.freeze(table)

/** The names of the settings whose default is of this type. */
type KeyOf<T extends SettingValue> = Extract<(typeof table)[number], { readonly default: T }>['key']

/** The default of a setting, for who has been given none. */
export function defaultOf(key: KeyOf<number>): number
export function defaultOf(key: KeyOf<string>): string
export function defaultOf(key: string): SettingValue | undefined {
  return settings.find((setting) => setting.key === key)?.default
}

/**
 * JSON schemas of the members of an object that holds these settings; a dot in a key is a nested object.
 * @param isWhole whether every setting of a nested object must be there
 */
export function schemasOf(list: readonly Setting[], isWhole: boolean, path = ''): Record<string, object> {
  const names = [...new Set(list.map(({ key }) => key.slice(path.length).replace(/\..*/, '')))]
  return Object.fromEntries(
    names.map((name): [string, object] => {
      const leaf = list.find(({ key }) => key === path + name)
      if (leaf) return [name, leaf.rule]
      const inner = `${path}${name}.`
      const properties = schemasOf(
        list.filter(({ key }) => key.startsWith(inner)),
        isWhole,
        inner,
      )
      return [name, objectSchema(properties, isWhole)]
    }),
  )
}

/** The schema of an object with these members and no others. */
export function objectSchema(properties: Readonly<Record<string, object>>, isWhole: boolean): object {
  return { type: 'object', additionalProperties: false, required: isWhole ? Object.keys(properties) : [], properties }
}
