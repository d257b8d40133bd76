import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { WriteStream } from 'node:tty'

/** What a command is given of the process that it runs in: `process` itself, or what stands in for it in a spec. */
export interface Io {
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** The command line, behind the names of two programs. */
  readonly argv: readonly string[]
  readonly pid: number
  /** The settings file that is read where none is named; that of the system unless given. */
  readonly usualSettings?: string
  exitCode?: number | string | null | undefined
  cwd(): string
  umask(mask: number): unknown
  /** Ends the process at once, whatever hangs. */
  exit(code?: number): void
  kill(pid: number, signal: NodeJS.Signals): unknown
  on(signal: NodeJS.Signals, listener: NodeJS.SignalsListener): unknown
  off(signal: NodeJS.Signals, listener: NodeJS.SignalsListener): unknown
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

/** Prints what was asked for. */
export function printLine({ stdout }: Io, line = ''): void {
  stdout.write(`${line}\n`)
}

/** Says to a person what is beside that. */
export function warn({ stderr }: Io, words: string): void {
  stderr.write(`commit-status: ${words}\n`)
}

/** Says what a person may not have meant; it has been done all the same. */
export function note(io: Io, words: string): void {
  warn(io, `note: ${words}`)
}

/** Whether standard output is a terminal with colours; NO_COLOR and FORCE_COLOR are heeded. */
export function hasColours({ stdout, env }: Io): boolean {
  return (stdout.isTTY === true || env['FORCE_COLOR'] !== undefined) && WriteStream.prototype.getColorDepth(env) > 2
}

/** Where a file is that a command names; as it was given where that is the same, since messages show it. */
export function pathIn(io: Io, path: string): string {
  return io === process ? path : resolve(io.cwd(), path)
}
