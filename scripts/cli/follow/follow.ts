import { setTimeout } from 'node:timers/promises'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import type { CommitStatus } from '../../../lib/domain/commit-status.js'
import { onStopSignal } from '../administration/stop-signals.js'
import { FollowedRepository, type ReceivedEvent } from '../clients/event-client.js'
import { isRefusal, RequestFailed, type Endpoint } from '../clients/service-client.js'
import { paintedText } from '../terminal/colours.js'
import { hasColours, warn, type Io } from '../terminal/io.js'
import { print } from '../terminal/output.js'
import { visible } from '../terminal/visible.js'

/** Exit statuses. */
const ENDED = 0
const REFUSED = 4

/** The pause before the next connection, doubled after each that was short, and up to twice as long by chance. */
const FIRST_PAUSE_MILLISECONDS = 500
const LONGEST_PAUSE_MILLISECONDS = 30_000

/** Prints what is reported of a repository until a signal ends it. @returns the exit status */
export async function follow(io: Io, endpoint: Endpoint, isJson: boolean): Promise<number> {
  const stopping = new AbortController()
  const forget = onStopSignal(io, ['SIGINT', 'SIGTERM', 'SIGHUP'], () => {
    stopping.abort()
  })
  const { signal } = stopping
  const followed = new FollowedRepository(endpoint)
  let pause = FIRST_PAUSE_MILLISECONDS
  let trouble: string | undefined
  try {
    while (!signal.aborted) {
      const begun = performance.now()
      let least = 0
      try {
        for await (const event of followed.events(signal)) {
          trouble = undefined
          await show(io, event, isJson)
        }
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error
        if (isRefusal(error)) {
          warn(io, error.message)
          return REFUSED
        }
        // Said once, however often it is tried again.
        if (!stopping.signal.aborted && error.message !== trouble) warn(io, `${error.message}; trying again`)
        trouble = error.message
        least = error.retryAfter
      }
      if (performance.now() - begun > LONGEST_PAUSE_MILLISECONDS) pause = FIRST_PAUSE_MILLISECONDS
      const milliseconds = Math.max(least, pause * (1 + Math.random()))
      pause = Math.min(pause * 2, LONGEST_PAUSE_MILLISECONDS)
      await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined)
    }
    return ENDED
  } finally {
    forget()
  }
}

async function show(io: Io, event: ReceivedEvent, isJson: boolean): Promise<void> {
  if (isJson) await print(io, `${jsonLine(event)}\n`)
  else if (event.event === 'status') await print(io, `${lineOf(io, event.status)}\n`)
  else warn(io, 'of what was reported before, something may be missing')
}

/** A line with all of a status; on a terminal with what a person reads of it. */
function lineOf(io: Io, { updated_at, state, sha, context, description, target_url }: CommitStatus): string {
  const isTerminal = io.stdout.isTTY === true
  const time = isTerminal ? new Date(updated_at).toTimeString().slice(0, 'hh:mm:ss'.length) : updated_at
  const padding = isTerminal ? ' '.repeat(Math.max(0, 'success'.length - state.length)) : ''
  const texts = [context, description, isTerminal ? null : target_url].flatMap((text) => (text ? [visible(text)] : []))
  const words = [
    visible(time),
    paintedText(state, hasColours(io)) + padding,
    visible(isTerminal ? sha.slice(0, 10) : sha),
  ]
  return [...words, ...texts].join('  ')
}
