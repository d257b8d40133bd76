import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Io } from './io.js'
import { print } from './output.js'

/** Where long output goes: a pager, or standard output itself. */
export interface Page {
  /** Resolves when more may come; `false` once nobody reads any more. */
  write(text: string): Promise<boolean>
  /** Resolves when the reader has ended. */
  end(): Promise<void>
}

/** @param command of a shell; `cat` and none are standard output itself */
export function openPager(io: Io, command: string): Page {
  if (command === '' || command === 'cat') return plainPage(io)
  // As git does.
  const env = { LESS: 'FRX', LV: '-c', ...io.env }
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], cwd: io.cwd(), env })
  const ended = once(child, 'close')
  const isOver = { now: false }
  const input: Writable = child.stdin
  // It ends when it has shown enough.
  input.on('error', () => (isOver.now = true))
  child.on('close', () => (isOver.now = true))
  return {
    async write(text) {
      if (!isOver.now && !input.write(text)) await Promise.race([once(input, 'drain').catch(() => undefined), ended])
      return !isOver.now
    },
    async end() {
      input.end()
      await ended
    },
  }
}

function plainPage(io: Io): Page {
  return {
    async write(text) {
      await print(io, text)
      return true
    },
    end: async () => await Promise.resolve(),
  }
}
