import { spawn, type ChildProcess } from 'node:child_process'
import { LRUCache } from 'lru-cache'
import { ServiceError } from '../errors.js'
import { silentLogger, type Logger } from '../contracts/logger.js'
import { RepositoryFormatUnknown, RepositoryUnreadable } from './commits.js'
import { FairQueue } from './fair-queue.js'
import { UnknownFormatNotes } from './needed-git.js'

/** How long git may take for one answer, the wait for its turn included. */
const DEADLINE_MILLISECONDS = 5_000

/** Processes at once; of one repository fewer, so that one in which git hangs does not hold up the others. */
const MAX_RUNNING = 8
const MAX_RUNNING_IN_ONE = 2

/** After which a process is slow and gives up its place, up to a number: where many hang, they hold up no others. */
const SLOW_MILLISECONDS = 500
const MAX_RUNNING_WITH_SLOW = 16

/** How long a repository in which git did not come to its end is not asked about again, and how many are remembered. */
const HUNG_MILLISECONDS = 30_000
const MAX_HUNG = 10_000

/** Those that wait for their turn. When there are more, the repository that most wait for is overloaded. */
const MAX_WAITING = 200

const MAX_ERROR_CHARACTERS = 1024

/** What git says of a repository whose format it does not know: of a later git, mostly. */
const UNKNOWN_FORMAT =
  /repository extensions? found|v1-only extensions? found|expected git repo version|invalid value for 'extensions\./i

/**
 * What is set whatever a repository's own configuration says. Repositories of another owner are read: the admin chose
 * the folder. Nothing that the configuration names is run: no hook, no monitor, no transport, no signature checker.
 */
const CONFIGURATION: Readonly<Record<string, string>> = {
  'safe.directory': '*',
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'log.showSignature': 'false',
  'protocol.allow': 'never',
}

/** How git ended. */
export interface GitEnd {
  readonly code: number | null
  readonly error: string
}

/** With all that it printed. */
export interface GitOutput extends GitEnd {
  readonly output: Buffer
}

/** Is given what git prints, as it comes. It returns why nothing more is taken: then git is ended. */
export type Take = (chunk: Buffer) => string | undefined

/** What is not the same for every git. */
export interface GitOptions {
  /** Whether one that does not come to its end need not have hung. */
  readonly mayTakeLong?: boolean
  /** What it reads from standard input; absent: nothing. */
  readonly input?: string
  /** Whether it reads the configuration of the system and of the user of this process as well. */
  readonly readsAllConfiguration?: boolean
}

interface Call extends GitOptions {
  readonly directory: string
  readonly args: readonly string[]
  readonly take: Take
  readonly done: (ended: GitEnd) => void
  readonly fail: (reason: Error) => void
  child?: ChildProcess
  isSlow?: true
}

/**
 * Runs the installed git in bare repositories, to read what libgit2 does not. Its environment is its own: no
 * configuration of the system or a user, unless that is what is read, no pager, no prompt, no lazy fetch. A git that
 * takes too long, on a pipe in the repository for one, is killed with all that it has started.
 */
export class GitProcesses {
  readonly #milliseconds: number
  readonly #running = new Set<Call>()
  readonly #waiting = new FairQueue<Call>(MAX_WAITING)
  readonly #hung = new LRUCache<string, true>({ max: MAX_HUNG, ttl: HUNG_MILLISECONDS })
  readonly #notes: UnknownFormatNotes
  #closed = false

  constructor({
    milliseconds = DEADLINE_MILLISECONDS,
    logger = silentLogger,
  }: { milliseconds?: number; logger?: Logger } = {}) {
    this.#milliseconds = milliseconds
    this.#notes = new UnknownFormatNotes(logger, async (directory) => {
      return (await this.run(directory, ['version'], MAX_ERROR_CHARACTERS)).output.toString().trim()
    })
  }

  /**
   * @param directory absolute path of a bare repository
   * @param args a command that only reads, and its arguments; nobody's text in a place where it could be an option
   * @param maxBytes more output than this is no answer
   * @throws RepositoryUnreadable when git cannot be run, takes too long or prints too much; ServiceError `overloaded`
   */
  async run(
    directory: string,
    args: readonly string[],
    maxBytes: number,
    options: GitOptions = {},
  ): Promise<GitOutput> {
    const output: Buffer[] = []
    let length = 0
    const take: Take = (chunk) => {
      length += chunk.length
      if (length > maxBytes) return `git printed more than ${maxBytes} bytes`
      output.push(chunk)
      return undefined
    }
    return { ...(await this.read(directory, args, take, options)), output: Buffer.concat(output) }
  }

  /** As `run`, for output of any length. */
  async read(directory: string, args: readonly string[], take: Take, options: GitOptions = {}): Promise<GitEnd> {
    if (this.#hung.has(directory)) throw new RepositoryUnreadable(directory, new Error('git hung there just now'))
    const ended = await this.#read({ directory, args, take, ...options })
    if (ended.code === 0 || !UNKNOWN_FORMAT.test(ended.error)) return ended
    void this.#notes.note(directory, ended.error)
    throw new RepositoryFormatUnknown(directory, new Error(`git: ${ended.error}`))
  }

  async #read(asked: Omit<Call, 'done' | 'fail'>): Promise<GitEnd> {
    const { directory, mayTakeLong = false } = asked
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<GitEnd>((resolve, reject) => {
        const call: Call = { ...asked, done: resolve, fail: reject }
        timer = setTimeout(() => {
          if (call.child && !mayTakeLong) this.#hung.set(directory, true)
          this.#end(call, `git took longer than ${this.#milliseconds} ms`)
        }, this.#milliseconds)
        this.#waiting.add(call)?.fail(new ServiceError('overloaded'))
        if (this.#closed) this.#end(call, 'the service is closed')
        this.#next()
      })
    } catch (cause) {
      throw cause instanceof ServiceError ? cause : new RepositoryUnreadable(directory, cause)
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends every process; whoever waits for one is refused. */
  close(): void {
    this.#closed = true
    for (const call of [...this.#waiting.clear(), ...this.#running]) this.#end(call, 'the service is closed')
  }

  /** A process that cannot be killed (on a network file system, say) keeps its place, so that there are no more. */
  #end(call: Call, reason: string): void {
    this.#waiting.remove(call)
    if (call.child) kill(call.child)
    call.fail(new Error(reason))
  }

  /** Begins those whose turn it is. */
  #next(): void {
    const runningIn = (directory: string) => [...this.#running].filter((call) => call.directory === directory).length
    while (this.#hasPlace()) {
      const call = this.#waiting.take((directory) => runningIn(directory) < MAX_RUNNING_IN_ONE)
      if (!call) return
      this.#start(call)
    }
  }

  #hasPlace(): boolean {
    const quick = [...this.#running].filter(({ isSlow }) => !isSlow)
    return quick.length < MAX_RUNNING && this.#running.size < MAX_RUNNING_WITH_SLOW
  }

  #start(call: Call): void {
    this.#running.add(call)
    const child = spawn('git', [`--git-dir=${call.directory}`, ...call.args], {
      cwd: '/',
      env: environment(call),
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, to be killed with all that it has started.
      detached: true,
    })
    call.child = child
    const slow = setTimeout(() => {
      call.isSlow = true
      this.#next()
    }, SLOW_MILLISECONDS)
    let error = ''
    child.stdout.on('data', (chunk: Buffer) => {
      const reason = call.take(chunk)
      if (reason !== undefined) this.#end(call, reason)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      if (error.length < MAX_ERROR_CHARACTERS) error += chunk.toString()
    })
    // One that has ended reads no more.
    child.stdin.on('error', () => undefined).end(call.input)
    child.once('error', call.fail)
    child.once('close', (code) => {
      clearTimeout(slow)
      this.#running.delete(call)
      call.done({ code, error: error.trim() })
      this.#next()
    })
  }
}

function environment({ readsAllConfiguration = false }: GitOptions): NodeJS.ProcessEnv {
  const configuration = Object.entries(CONFIGURATION)
  const { PATH, HOME, XDG_CONFIG_HOME } = process.env
  return {
    // Where git is installed, and that of a user: nothing more is taken from the environment of this process.
    PATH,
    LC_ALL: 'C',
    ...(readsAllConfiguration
      ? { HOME, XDG_CONFIG_HOME }
      : { HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_PAGER: 'cat',
    // In a partial clone git would fetch what is missing, with a program that the configuration names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_CONFIG_COUNT: String(configuration.length),
    ...Object.fromEntries(
      configuration.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** With its group; one that has ended meanwhile is no error. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    /* c8 ignore next 3 -- a moment that no test can meet */
  } catch {
    // It has ended.
  }
}
