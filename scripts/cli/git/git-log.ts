import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { linesOf } from '../../../lib/admin/ndjson.js'
import type { Io } from '../terminal/io.js'

/** Of a patch a line may be long. */
const MAX_LINE = 64 * 1024 * 1024

/** A line that `git log` prints, with the commit that it begins, if it does. */
export interface LogLine {
  /** What the line has before the commit: the graph of `--graph`. */
  readonly before: string
  readonly sha: string | undefined
  /** The rest of the line. */
  readonly text: string
}

export interface GitLog {
  readonly lines: AsyncIterable<LogLine>
  /** The exit status of git. */
  readonly ended: Promise<number>
  stop(): void
}

/** `git log` with a format of ours. @param format of what follows the id, as git-log(1) has it */
export function gitLog(io: Io, args: readonly string[], format: string, isColoured: boolean): GitLog {
  // What only this run knows: no message and no patch can look like the beginning of a commit.
  const mark = randomBytes(12).toString('hex')
  const options = optionsOf(args)
  const paths = args.slice(options.length)
  const child = spawn(
    'git',
    ['log', ...options, `--color=${isColoured ? 'always' : 'never'}`, `--format=${mark}%H ${format}`, ...paths],
    { stdio: ['inherit', 'pipe', 'inherit'], cwd: io.cwd(), env: io.env },
  )
  const pattern = new RegExp(`^(.*?)${mark}([0-9a-f]{40,64}) (.*)$`)
  const lines = linesOf(child.stdout, { maxLength: MAX_LINE })
  const ended = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : 128))
  return {
    ended,
    lines: (async function* () {
      for await (const line of lines) {
        const [, before = '', sha, text = line] = pattern.exec(line) ?? []
        yield { before, sha, text }
      }
    })(),
    stop: () => {
      child.kill()
    },
  }
}

/** What git pages its log with; empty: nothing. */
export async function gitPager(io: Io): Promise<string> {
  const [command, isOn] = await Promise.all([
    setting(io, '--get', 'pager.log'),
    setting(io, '--type=bool', '--get', 'pager.log'),
  ])
  if (isOn === 'false') return ''
  // One that is neither on nor off is a command; the environment goes before it.
  if (command !== undefined && isOn === undefined && io.env['GIT_PAGER'] === undefined) return command
  const { stdout } = await promisify(execFile)('git', ['var', 'GIT_PAGER'], { cwd: io.cwd(), env: io.env })
  return stdout.trim()
}

/**
 * Whether git's log would be in colour.
 * @param args of git log, which say so last
 * @param isPaged whether a pager shows it on the terminal
 */
export async function isInColour(
  io: Io,
  args: readonly string[],
  isTerminal: boolean,
  isPaged: boolean,
): Promise<boolean> {
  const option = optionsOf(args).findLast((text) => /^--(?:no-color|color(?:=.*)?)$/.test(text))
  const [, when = option === '--no-color' ? 'never' : 'always'] = option?.split('=') ?? []
  const said = option && when
  if (said === undefined && io.env['NO_COLOR'] !== undefined) return false
  const { FORCE_COLOR: forced } = io.env
  if (said === undefined && forced !== undefined) return forced !== '0' && forced !== 'false'
  const isShown = isTerminal && !(isPaged && (await setting(io, '--type=bool', '--get', 'color.pager')) === 'false')
  // Of git log it is color.diff, and color.ui where that says nothing.
  const overriding = said === undefined ? [] : ['-c', `color.diff=${said}`]
  return (
    (await ask(io, [...overriding, 'config', '--get-colorbool', 'color.diff', isShown ? 'true' : 'false'])) === 'true'
  )
}

/** Without the paths. */
export function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return end === -1 ? args : args.slice(0, end)
}

/** What a setting of git says; `undefined` when it says nothing, or no such thing. */
async function setting(io: Io, ...args: string[]): Promise<string | undefined> {
  return await ask(io, ['config', ...args])
}

async function ask(io: Io, args: readonly string[]): Promise<string | undefined> {
  return await promisify(execFile)('git', args, { cwd: io.cwd(), env: io.env }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}
