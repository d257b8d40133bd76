import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { linesOf } from '../../../lib/admin/ndjson.js'

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
export function gitLog(args: readonly string[], format: string, isColoured: boolean): GitLog {
  // What only this run knows: no message and no patch can look like the beginning of a commit.
  const mark = randomBytes(12).toString('hex')
  const end = args.indexOf('--')
  const [options, paths] = end === -1 ? [args, []] : [args.slice(0, end), args.slice(end)]
  const child = spawn(
    'git',
    ['log', `--color=${isColoured ? 'always' : 'never'}`, ...options, `--format=${mark}%H ${format}`, ...paths],
    { stdio: ['inherit', 'pipe', 'inherit'] },
  )
  const pattern = new RegExp(`^(.*?)${mark}([0-9a-f]{40,64}) (.*)$`)
  const lines = linesOf(child.stdout, { most: MAX_LINE })
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

/** What git pages its output with. */
export async function gitPager(): Promise<string> {
  const { stdout } = await promisify(execFile)('git', ['var', 'GIT_PAGER'])
  return stdout.trim()
}
