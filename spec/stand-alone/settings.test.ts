import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { settings } from '../../config/settings.js'
import { readGivenSettings, readSettings, schema, type Settings } from '../../lib/stand-alone/settings.js'

const HOME = '/srv/commit-status'
const DIRECTORY = '/home/alice'

const defaults: Settings = {
  host: '127.0.0.1',
  port: 8080,
  socket: { mode: '0660', group: '' },
  repositories: '/srv/commit-status/data/repositories',
  topOwner: 'git',
  store: 'level:/srv/commit-status/data/store',
  trustedProxies: [],
  pages: 'on',
  title: 'Commit statuses',
  commitUrl: '',
  signIn: { header: '', secretFile: '', url: '', command: '' },
  rights: { command: [], seconds: 10 },
  tokenPrefix: 'cst',
  authFailures: { limit: 20, windowSeconds: 600 },
  compatibleApis: ['github', 'gitea', 'gitlab'],
  giteaHosts: [],
  publicUrl: '',
  limits: {
    requests: 1000,
    contexts: 1000,
    tokens: 100,
    waits: 10_000,
    waitSeconds: 30,
    connections: 10_000,
    headersSeconds: 10,
    requestSeconds: 30,
    responseSeconds: 30,
    keepAliveSeconds: 75,
    headerBytes: 16_384,
    unsentBytes: 268_435_456,
    closeSeconds: 4,
  },
  cache: { megabytes: 64 },
  retention: 'off',
  hooks: { secretFile: '/srv/commit-status/data/hooks.secret', allow: [] },
  mail: { server: '', sender: '' },
  metrics: 'off',
  logLevel: 'info',
}

t.test('Without file and environment, every setting has its default', async (t) => {
  t.strictSame(read({}), defaults)
  t.strictSame(
    read({
      PATH: '/bin',
      OTHER_STATUS_PORT: '1',
      COMMIT_STATUS_TOKEN: 'of a CI agent',
      COMMIT_STATUS_URL: 'https://status.example.com',
      COMMIT_STATUS_CONFIG: '',
    }),
    defaults,
    'whatever else is in the environment',
  )
})

t.test('The file goes over the defaults, the environment over the file', async (t) => {
  const file = fileWith(t, { host: '0.0.0.0', port: 1, authFailures: { limit: 1 }, logLevel: 'warn' })
  t.strictSame(read({}, file), {
    ...defaults,
    host: '0.0.0.0',
    port: 1,
    authFailures: { limit: 1, windowSeconds: 600 },
    logLevel: 'warn',
  })
  t.strictSame(read({ COMMIT_STATUS_PORT: '2', COMMIT_STATUS_AUTH_FAILURE_WINDOW_SECONDS: '3' }, file), {
    ...defaults,
    host: '0.0.0.0',
    port: 2,
    authFailures: { limit: 1, windowSeconds: 3 },
    logLevel: 'warn',
  })
})

t.test('COMMIT_STATUS_CONFIG names the file, unless it is given', async (t) => {
  const named = fileWith(t, { port: 1 })
  t.equal(read({ COMMIT_STATUS_CONFIG: named }).port, 1)
  t.equal(read({ COMMIT_STATUS_CONFIG: '/nonexistent' }, named).port, 1)
  t.equal(
    readSettings({ environment: { COMMIT_STATUS_CONFIG: 'settings.json' }, home: HOME, directory: t.testdirName }).port,
    1,
    'below the working directory',
  )
})

t.test('The usual file is read where it exists and no file is named, an empty name among them', async (t) => {
  const usualFile = fileWith(t, { port: 1, limits: { waits: 2 } })
  const named = join(t.testdirName, 'named.json')
  writeFileSync(named, '{"port": 3}')
  const given = (environment: Record<string, string>, file = usualFile) =>
    readGivenSettings({ environment, home: HOME, directory: '/', usualFile: file })
  const { settings: read, file, from } = given({ COMMIT_STATUS_LOG_LEVEL: 'warn' })
  t.strictSame([read.port, read.limits.waits, read.logLevel, file], [1, 2, 'warn', usualFile])
  t.strictSame(Object.fromEntries(from), {
    port: usualFile,
    'limits.waits': usualFile,
    logLevel: 'COMMIT_STATUS_LOG_LEVEL',
  })
  t.match(given({ COMMIT_STATUS_CONFIG: named }), { settings: { port: 3 }, file: named })
  t.match(given({ COMMIT_STATUS_CONFIG: '' }), { settings: { port: 8080 }, file: undefined })
  t.match(given({}, '/nonexistent/settings.json'), { settings: { port: 8080 }, file: undefined })
  const loop = join(t.testdirName, 'loop')
  symlinkSync(loop, loop)
  t.throws(() => given({}, loop), { message: /^the settings file .*loop cannot be read: ELOOP/ }, 'it is there')
})

t.test('What is misspelt is named beside what was meant', async (t) => {
  const cases: [name: string, meant: string][] = [
    ['prot', 'port'],
    ['limits.wait', 'limits.waits'],
    ['singIn', 'signIn'],
    ['LogLevel', 'logLevel'],
  ]
  for (const [name, meant] of cases) {
    const content = name.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), 1)
    const message = `no setting has this name; did you mean ${meant}?`
    t.throws(() => read({}, fileWith(t, content)), {
      message: new RegExp(`${message.replaceAll('?', '\\?')}$`),
    })
  }
  t.throws(() => read({}, fileWith(t, { '': 1 })), { message: /no setting has this name$/ })
  t.throws(() => read({ COMMIT_STATUS_TOKENS: 'x' }), { message: /; did you mean COMMIT_STATUS_TOKEN\?$/ })
})

t.test('Every setting can be set in the file and in the environment', async (t) => {
  const values: Record<string, [text: string, value: unknown]> = {
    host: ['::1', '::1'],
    port: ['0', 0],
    'socket.mode': ['0600', '0600'],
    'socket.group': ['www-data', 'www-data'],
    repositories: ['/srv/git', '/srv/git'],
    topOwner: ['us', 'us'],
    store: ['level:/srv/store', 'level:/srv/store'],
    trustedProxies: ['10.0.0.0/8, ::1 ,192.0.2.1', ['10.0.0.0/8', '::1', '192.0.2.1']],
    pages: ['off', 'off'],
    title: ['Statuses of ACME', 'Statuses of ACME'],
    commitUrl: ['https://git.example.com/{repo}/commit/?id={id}', 'https://git.example.com/{repo}/commit/?id={id}'],
    'signIn.header': ['Remote-User', 'Remote-User'],
    'signIn.secretFile': ['/etc/secret', '/etc/secret'],
    'signIn.url': ['/oauth2/start', '/oauth2/start'],
    'signIn.command': ['ssh git@host sign-in', 'ssh git@host sign-in'],
    'rights.command': ['rights  --of {access}', ['rights', '--of', '{access}']],
    'rights.seconds': ['5', 5],
    tokenPrefix: ['acme', 'acme'],
    'authFailures.limit': ['5', 5],
    'authFailures.windowSeconds': ['6', 6],
    compatibleApis: ['gitlab,github', ['gitlab', 'github']],
    giteaHosts: ['gitea.example.com, git.example.com:3000', ['gitea.example.com', 'git.example.com:3000']],
    publicUrl: ['https://status.example.com/x', 'https://status.example.com/x'],
    'limits.requests': ['7', 7],
    'limits.contexts': ['30', 30],
    'limits.tokens': ['33', 33],
    'limits.waitSeconds': ['31', 31],
    'limits.waits': ['32', 32],
    'limits.connections': ['8', 8],
    'limits.headersSeconds': ['9', 9],
    'limits.requestSeconds': ['10', 10],
    'limits.responseSeconds': ['11', 11],
    'limits.keepAliveSeconds': ['12', 12],
    'limits.headerBytes': ['4096', 4096],
    'limits.unsentBytes': ['2000000', 2000000],
    'limits.closeSeconds': ['13', 13],
    'cache.megabytes': ['256', 256],
    retention: ['{"unchangedFor": "400d", "goneCommits": true}', { unchangedFor: '400d', goneCommits: true }],
    'hooks.secretFile': ['/etc/hooks.secret', '/etc/hooks.secret'],
    'hooks.allow': ['169.254.1.1, fd00::/8', ['169.254.1.1', 'fd00::/8']],
    'mail.server': ['smtp://mail.example.com:587', 'smtp://mail.example.com:587'],
    'mail.sender': ['ci@example.com', 'ci@example.com'],
    metrics: ['[::1]:9090', '[::1]:9090'],
    logLevel: ['silent', 'silent'],
  }
  t.strictSame(
    Object.keys(values),
    settings.map(({ key }) => key),
    'each of them is tried here',
  )
  for (const { key, environment } of settings) {
    const [text, value] = values[key] ?? []
    const expected = withValue(key, value)
    t.strictSame(read({ [environment]: text }), expected, `${environment}=${text}`)
    t.strictSame(read({}, fileWith(t, nested(key, value))), expected, `${key} in the file`)
  }
})

t.test(
  'Relative paths: of a default, below the home; of the file, below its folder; of the environment, below the ' +
    'working directory',
  async (t) => {
    const paths = ({ repositories, store }: Settings): string[] => [repositories, store]
    t.equal(read({ COMMIT_STATUS_HOST: 'unix:http.sock' }).host, `unix:${DIRECTORY}/http.sock`)
    t.strictSame(paths(read({})), [`${HOME}/data/repositories`, `level:${HOME}/data/store`])
    const file = fileWith(t, { repositories: '../git', store: 'level:./store' })
    t.strictSame(paths(read({}, file)), [join(t.testdirName, '../git'), `level:${join(t.testdirName, 'store')}`])
    t.strictSame(paths(read({ COMMIT_STATUS_REPOSITORIES: 'git', COMMIT_STATUS_STORE: 'level:store' }, file)), [
      `${DIRECTORY}/git`,
      `level:${DIRECTORY}/store`,
    ])
  },
)

t.test('The bounds of every setting', async (t) => {
  for (const [environment, accepted, refused] of bounds) {
    for (const text of accepted)
      t.doesNotThrow(() => read({ [environment]: text }), `${environment}=${text.slice(0, 30)}`)
    for (const text of refused)
      t.throws(() => read({ [environment]: text }), { name: 'SettingsError' }, `${environment}=${text.slice(0, 30)}`)
  }
  t.strictSame(
    bounds.map(([environment]) => environment),
    settings.map(({ environment }) => environment),
    'each of them is tried here',
  )
})

const bounds: [environment: string, accepted: string[], refused: string[]][] = [
  [
    'COMMIT_STATUS_HOST',
    ['h', 'h'.repeat(255), 'unix:/run/http.sock', `unix:/${'s'.repeat(106)}`],
    ['', 'h'.repeat(256), 'unix:', `unix:/${'s'.repeat(107)}`, `unix:/${'é'.repeat(54)}`],
  ],
  ['COMMIT_STATUS_PORT', ['0', '1', '65535'], ['', '-1', '65536', '80 ', '8e1', '0x50', '80.0', 'http']],
  ['COMMIT_STATUS_SOCKET_MODE', ['0660', '666', '0600'], ['', '0680', '66', '1777', 'rw-rw----']],
  ['COMMIT_STATUS_SOCKET_GROUP', ['', 'www-data', '33'], ['www data', 'a:b', 'g'.repeat(101)]],
  ['COMMIT_STATUS_REPOSITORIES', ['/', `/${'r'.repeat(4095)}`], ['', `/${'r'.repeat(4096)}`]],
  [
    'COMMIT_STATUS_TOP_OWNER',
    ['git', 'a', 'alice@laptop', 'a'.repeat(100)],
    ['', '.git', 'a/b', 'a b', 'x.git', 'a'.repeat(101)],
  ],
  [
    'COMMIT_STATUS_STORE',
    ['level:/', 'postgres://localhost', 'postgresql://u:p@h:1/d?sslmode=require', `level:/${'s'.repeat(4089)}`],
    ['', 'level:', '/srv/store', 'Level:/srv/store', 'postgres://', 'mysql://localhost', `level:/${'s'.repeat(4090)}`],
  ],
  [
    'COMMIT_STATUS_TRUSTED_PROXIES',
    ['', ',', '127.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', list(1000)],
    ['localhost', '10.0.0.0/33', '10.0.0', '10.0.0.0/-1', '127.0.0.1 ::1', '*', 'loopback', list(1001)],
  ],
  ['COMMIT_STATUS_PAGES', ['on', 'off'], ['', 'yes', 'ON']],
  ['COMMIT_STATUS_TITLE', ['x', 'x'.repeat(60)], ['', 'x'.repeat(61)]],
  [
    'COMMIT_STATUS_COMMIT_URL',
    ['', '/{repo}/{id}', 'https://git.example.com/?p={repo}.git;a=commit;h={id}'],
    [
      'git.example.com/{id}',
      'https://git.example.com/{repo}',
      'javascript:{id}',
      '//x/{id}',
      `/{id}${'x'.repeat(497)}`,
    ],
  ],
  [
    'COMMIT_STATUS_SIGN_IN_HEADER',
    ['', 'Remote-User', 'X'.repeat(64)],
    ['Remote_User', 'a b', '-x', 'X'.repeat(65), 'a:'],
  ],
  ['COMMIT_STATUS_SIGN_IN_SECRET_FILE', ['', '/etc/secret'], ['x'.repeat(4097)]],
  [
    'COMMIT_STATUS_SIGN_IN_URL',
    ['', '/oauth2/start', 'https://auth.example.com/?rd=x'],
    ['javascript:alert(1)', 'auth.example.com', `/${'x'.repeat(2048)}`],
  ],
  ['COMMIT_STATUS_SIGN_IN_COMMAND', ['', 'ssh git@host sign-in'], ['ssh\ngit', 'ä', 'x'.repeat(201)]],
  [
    'COMMIT_STATUS_RIGHTS_COMMAND',
    ['', 'gitolite access % % {access} any', `${'a '.repeat(99)}{access}`],
    ['gitolite', 'gitolite access={access}', 'a\tb {access}', 'a\0b {access}', `${'a '.repeat(100)}{access}`],
  ],
  ['COMMIT_STATUS_RIGHTS_SECONDS', ['1', '3600'], ['0', '-1', '1.5', '3601', '']],
  [
    'COMMIT_STATUS_TOKEN_PREFIX',
    ['ab', 'a2', `a${'b'.repeat(15)}`],
    ['', 'a', 'Ab', '2a', 'a_b', 'a-b', 'é9', `a${'b'.repeat(16)}`],
  ],
  ['COMMIT_STATUS_AUTH_FAILURE_LIMIT', ['1', '1000000'], ['', '0', '-1', '1000001', '1.5']],
  ['COMMIT_STATUS_AUTH_FAILURE_WINDOW_SECONDS', ['1', '604800'], ['', '0', '604801', '10m']],
  ['COMMIT_STATUS_COMPATIBLE_APIS', ['', 'github', 'gitea,gitlab'], ['GitHub', 'bitbucket', 'github;gitea']],
  [
    'COMMIT_STATUS_GITEA_HOSTS',
    ['', 'gitea.example.com', 'a:3000,[::1]:3000'],
    ['https://gitea.example.com', 'a b', 'a/b', 'a:b', 'a'.repeat(256)],
  ],
  [
    'COMMIT_STATUS_PUBLIC_URL',
    ['', 'http://h', 'https://status.example.com:8443/', 'https://[::1]/a/b'],
    ['h', 'ftp://h', 'https://', 'https://h?x', 'https://h/a b', 'https://h/"', `https://${'h'.repeat(993)}`],
  ],
  ['COMMIT_STATUS_LIMIT_REQUESTS', ['1', '1000000'], ['', '0', '1000001', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_CONTEXTS', ['1', '10000'], ['', '0', '10001', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_TOKENS', ['1', '10000'], ['', '0', '10001', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_WAIT_SECONDS', ['0', '300'], ['-1', '301', '1.5', 'x']],
  ['COMMIT_STATUS_LIMIT_WAITS', ['0', '1000000'], ['-1', '1000001', '1.5', 'x']],
  ['COMMIT_STATUS_LIMIT_CONNECTIONS', ['1', '1000000'], ['', '0', '1000001', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_HEADERS_SECONDS', ['1', '3600'], ['', '0', '3601', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_REQUEST_SECONDS', ['1', '3600'], ['', '0', '3601', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_RESPONSE_SECONDS', ['1', '3600'], ['', '0', '3601', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_KEEP_ALIVE_SECONDS', ['1', '3600'], ['', '0', '3601', '1.5', '10s']],
  ['COMMIT_STATUS_LIMIT_HEADER_BYTES', ['1024', '1048576'], ['', '1023', '1048577', '1024.5', '10s']],
  ['COMMIT_STATUS_LIMIT_UNSENT_BYTES', ['1048576', '68719476736'], ['', '1048575', '68719476737', '1048576.5', '10s']],
  ['COMMIT_STATUS_LIMIT_CLOSE_SECONDS', ['1', '3600'], ['', '0', '3601', '1.5', '10s']],
  ['COMMIT_STATUS_CACHE_MEGABYTES', ['1', '1048576'], ['0', '1048577', '1.5', '']],
  [
    'COMMIT_STATUS_RETENTION',
    ['off', '{"unchangedFor": "1d"}', '{"unchangedFor": "99999w"}', '{"goneCommits": false, "goneRepositories": true}'],
    [
      ...['', 'on', '400d', '{}', '[]', 'null', '{', '{"unchangedFor": "0d"}', '{"unchangedFor": "24h"}'],
      ...['{"unchangedFor": "100000d"}', '{"unchangedFor": 400}', '{"goneCommits": "yes"}', '{"olderThan": "400d"}'],
    ],
  ],
  ['COMMIT_STATUS_HOOKS_SECRET_FILE', ['', '/etc/key', `/${'x'.repeat(4095)}`], [`/${'x'.repeat(4096)}`]],
  ['COMMIT_STATUS_HOOKS_ALLOW', ['', '169.254.169.254', 'fe80::/10,10.0.0.1'], ['example.com', '10.0.0.0/33']],
  ['COMMIT_STATUS_MAIL_SERVER', ['', 'smtp://mail', 'smtps://a:b@mail:465'], ['mail', 'http://mail', 'smtp://']],
  ['COMMIT_STATUS_MAIL_SENDER', ['', 'ci@example.com'], ['ci', 'a b@example.com', '@']],
  [
    'COMMIT_STATUS_METRICS',
    ['off', 'main', '127.0.0.1:9090', '[::1]:9090', 'localhost:0'],
    ['', 'on', '9090', ':9090', 'localhost', '127.0.0.1:', '127.0.0.1:port', '127.0.0.1:900000'],
  ],
  ['COMMIT_STATUS_LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'silent'], ['', 'trace', 'INFO', '30']],
]

t.test(
  'An unknown key or a bad value is refused in one line that names the key, the value, the source and the rule',
  async (t) => {
    const folder = t.testdir()
    const cases: [environment: Record<string, string>, file: unknown, message: string][] = [
      [
        { COMMIT_STATUS_PROT: '80' },
        {},
        'unknown setting COMMIT_STATUS_PROT = "80": no setting has this variable; did you mean COMMIT_STATUS_PORT?',
      ],
      [{ COMMIT_STATUS_PORT: '80a' }, {}, 'bad setting port (COMMIT_STATUS_PORT) = "80a": must be integer'],
      [{ COMMIT_STATUS_PORT: '70000' }, {}, 'bad setting port (COMMIT_STATUS_PORT) = 70000: must be <= 65535'],
      [
        { COMMIT_STATUS_LOG_LEVEL: 'a\nb' },
        {},
        'bad setting logLevel (COMMIT_STATUS_LOG_LEVEL) = "a\\nb": must be one of fatal, error, warn, info, ' +
          'debug, silent',
      ],
      [
        { COMMIT_STATUS_TRUSTED_PROXIES: '::1,proxy' },
        {},
        'bad setting trustedProxies.1 (COMMIT_STATUS_TRUSTED_PROXIES) = "proxy": must be an IP address, a range, ' +
          '10.0.0.0/8, or unix',
      ],
      [
        { COMMIT_STATUS_RIGHTS_COMMAND: 'gitolite access' },
        {},
        'bad setting rights.command (COMMIT_STATUS_RIGHTS_COMMAND) = ["gitolite","access"]: must be a program and ' +
          'its arguments, {access} among them',
      ],
      [
        { COMMIT_STATUS_TRUSTED_PROXIES: '010.0.0.1' },
        {},
        'bad setting trustedProxies.0 (COMMIT_STATUS_TRUSTED_PROXIES) = "010.0.0.1": must be an IP address, ' +
          'a range, 10.0.0.0/8, or unix',
      ],
      [
        { COMMIT_STATUS_RETENTION: '400d' },
        {},
        'bad setting retention (COMMIT_STATUS_RETENTION) = "400d": must be off, or an object with unchangedFor, ' +
          'goneCommits or goneRepositories',
      ],
      [
        {},
        { retention: {} },
        'bad setting retention (FILE) = {}: must be off, or an object with unchangedFor, goneCommits or ' +
          'goneRepositories',
      ],
      [
        { COMMIT_STATUS_RETENTION: '{"unchangedFor": "1h"}' },
        {},
        'bad setting retention.unchangedFor (COMMIT_STATUS_RETENTION) = "1h": must be a number of days or weeks, ' +
          '400d or 52w',
      ],
      [
        { COMMIT_STATUS_RETENTION: '{"goneCommit": true}' },
        {},
        'unknown setting retention.goneCommit (COMMIT_STATUS_RETENTION) = true: no setting has this name',
      ],
      [
        { COMMIT_STATUS_METRICS: '127.0.0.1:99999' },
        {},
        'bad setting metrics (COMMIT_STATUS_METRICS) = "127.0.0.1:99999": must be off, main, or an ' +
          'address like 127.0.0.1:9464',
      ],
      [{}, { prot: 80 }, 'unknown setting prot (FILE) = 80: no setting has this name; did you mean port?'],
      [
        {},
        { authFailures: { limits: [1] } },
        'unknown setting authFailures.limits (FILE) = [1]: no setting has this name; did you mean authFailures.limit?',
      ],
      [
        {},
        { 'authFailures.limit': 1 },
        'unknown setting authFailures.limit (FILE) = 1: no setting has this name; a dot stands for a nested object',
      ],
      [{}, { port: '80' }, 'bad setting port (FILE) = "80": must be integer'],
      [{}, { authFailures: { limit: 0 } }, 'bad setting authFailures.limit (FILE) = 0: must be >= 1'],
      [{}, { authFailures: 5 }, 'bad setting authFailures (FILE) = 5: must be object'],
      [{}, { trustedProxies: '::1' }, 'bad setting trustedProxies (FILE) = "::1": must be array'],
      [{}, { host: { name: 'a' } }, 'bad setting host (FILE) = {"name":"a"}: must be string'],
      [
        {},
        { store: 'mysql://u:secret@localhost/d' },
        'bad setting store (FILE) = "mysql:***": must be level: and a folder, or ' +
          'postgres://USER:PASSWORD@HOST/DATABASE',
      ],
      [
        { COMMIT_STATUS_STOER: 'postgres://u:secret@h?sslpassword=secret' },
        {},
        'unknown setting COMMIT_STATUS_STOER = "postgres:***": no setting has this variable; did you mean ' +
          'COMMIT_STATUS_STORE?',
      ],
      [{}, { repositories: null }, 'bad setting repositories (FILE) = null: must be string'],
      [
        { COMMIT_STATUS_HOST: 'h', COMMIT_STATUS_PORT: '80' },
        { port: 'a' },
        'bad setting port (FILE) = "a": must be integer',
      ],
      [{}, '{"__proto__": {"port": 1}}', 'unknown setting __proto__ (FILE) = {"port":1}: no setting has this name'],
      [
        {},
        '{"authFailures": {"__proto__": 1}}',
        'unknown setting authFailures.__proto__ (FILE) = 1: no setting has this name',
      ],
      [{}, '{"constructor": {"name": 1}}', 'unknown setting constructor (FILE) = {"name":1}: no setting has this name'],
    ]
    for (const [environment, content, message] of cases) {
      const file = join(folder, 'settings.json')
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      t.throws(() => read(environment, file), { name: 'SettingsError', message: message.replace('FILE', file) })
    }
    t.equal(Reflect.get({}, 'port'), undefined, 'no other object has got a property')
  },
)

t.test('A file that is no JSON object, or cannot be read, is refused in one line', async (t) => {
  const folder = t.testdir()
  for (const content of ['', '{\n  port: 80\n}\n', '{\n  "port": 80,\n}\n', '[]', 'null', '80']) {
    writeFileSync(join(folder, 'settings.json'), content)
    t.throws(
      () => read({}, join(folder, 'settings.json')),
      { name: 'SettingsError', message: /^the settings file \/.*\/settings\.json cannot be read: .+$/ },
      JSON.stringify(content),
    )
  }
  t.throws(() => read({ COMMIT_STATUS_CONFIG: 'none.json' }), {
    name: 'SettingsError',
    message: /^the settings file \/home\/alice\/none\.json cannot be read: .*ENOENT/,
  })
  t.throws(() => read({}, folder), { name: 'SettingsError', message: /EISDIR/ })
})

t.test('The schema knows the settings and nothing else', async (t) => {
  t.match(schema, {
    additionalProperties: false,
    properties: {
      port: { type: 'integer' },
      authFailures: { additionalProperties: false, properties: { limit: { type: 'integer' } } },
    },
  })
})

function read(environment: NodeJS.ProcessEnv, file?: string): Settings {
  return readSettings({ environment, home: HOME, directory: DIRECTORY, ...(file !== undefined && { file }) })
}

function fileWith(t: Test, content: unknown): string {
  return join(t.testdir({ 'settings.json': JSON.stringify(content) }), 'settings.json')
}

function nested(key: string, value: unknown): object {
  return key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
}

function withValue(key: string, value: unknown): unknown {
  const [name = '', inner] = key.split('.')
  return {
    ...defaults,
    [name]: inner === undefined ? value : { ...(Reflect.get(defaults, name) as object), [inner]: value },
  }
}

function list(length: number): string {
  return Array.from({ length }, () => '::1').join()
}
