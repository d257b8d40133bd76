import { spawn } from 'node:child_process'
import { deferred } from '../concurrency/deferred.js'

/** What an answer may be longer than its question: what the program says of it. */
const MAX_SAID_BYTES = 4096

/** Enough of what it says on standard error for the log. */
const MAX_ERROR_CHARACTERS = 1000

/** How long something that the program has left behind may hold its output open, once it has ended. */
const HELD_MILLISECONDS = 500

/** A program that was asked. */
export interface CommandCall {
  /** What it said of each question. Rejects, with the reason for the log, unless every question has its answer. */
  readonly answers: Promise<ReadonlyMap<string, string>>
  /** Resolves when the process is gone. One that cannot be killed, under sudo for one, outlives its call. */
  readonly gone: Promise<void>
  /** Ends it. */
  end(reason: string): void
}

/**
 * Asks a program of the git server about rights: it gets lines `repository<TAB>user` on its standard input, and prints
 * each with a third column. It runs without a shell, in the environment of this process, and nothing of a question is
 * among its words. Whatever it does but answer, the call fails.
 * @param words the program and its arguments
 * @param questions lines, each another one
 */
export function callCommand(
  [program = '', ...words]: readonly string[],
  questions: readonly string[],
  milliseconds: number,
): CommandCall {
  const answers = deferred<ReadonlyMap<string, string>>()
  const gone = deferred<undefined>()
  // In a group of its own, to be killed with all that it has started.
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  child.once('error', ({ message }) => {
    answers.reject(new Error(`it cannot be run: ${message}`))
    gone.resolve(undefined)
  })
  // Then it may not even have streams.
  const { pid } = child
  if (pid === undefined) return { answers: answers.promise, gone: gone.promise, end: () => undefined }
  const end = (reason: string): void => {
    answers.reject(new Error(reason))
    kill(pid)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  }
  const timer = setTimeout(() => {
    end(`it took longer than ${milliseconds} ms`)
  }, milliseconds)
  const input = questions.map((question) => `${question}\n`).join('')
  const maxBytes = Buffer.byteLength(input) + questions.length * MAX_SAID_BYTES
  const output: Buffer[] = []
  let [bytes, error] = [0, '']
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    output.push(chunk)
    if (bytes > maxBytes) end('it printed too much')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    error = (error + chunk.toString()).slice(0, MAX_ERROR_CHARACTERS)
  })
  child.once('exit', () => {
    // What it has left behind has nothing more to say; outside of its group, that may still hold the output open.
    kill(pid)
    const held = setTimeout(() => {
      // What is there by now is read first.
      setImmediate(() => {
        for (const stream of [child.stdout, child.stderr]) stream.destroy()
      })
    }, HELD_MILLISECONDS)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      clearTimeout(held)
      gone.resolve(undefined)
      try {
        if (code !== 0) throw new Error(`it ended with ${signal ?? code}: ${error.trim()}`)
        answers.resolve(answersIn(Buffer.concat(output).toString(), questions))
      } catch (reason) {
        answers.reject(reason)
      }
    })
  })
  // One that reads nothing, or not everything, closes it: its answers decide.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return { answers: answers.promise, gone: gone.promise, end }
}

/** @throws Error, unless every question has one answer, and there is nothing else */
function answersIn(output: string, questions: readonly string[]): ReadonlyMap<string, string> {
  const open = new Set(questions)
  const answers = new Map<string, string>()
  const lines = output.split('\n')
  // Without the end of its line, an answer may be the beginning of another one.
  if (lines.pop() !== '') throw new Error('it printed a line without an end')
  for (const line of lines) {
    const tab = line.indexOf('\t', line.indexOf('\t') + 1)
    const [question, said] = [line.slice(0, Math.max(0, tab)), line.slice(tab + 1)]
    if (!open.delete(question) || said === '') throw new Error(`it printed ${JSON.stringify(line.slice(0, 200))}`)
    answers.set(question, said)
  }
  if (open.size > 0) throw new Error(`it left ${open.size} of ${questions.length} questions without an answer`)
  return answers
}

/** With its group; one that has ended meanwhile, or is not ours to kill, is no error. */
function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended, or runs as somebody else.
  }
}
