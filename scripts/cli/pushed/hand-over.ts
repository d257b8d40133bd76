import { realpath } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { isUserName } from '../../../lib/domain/repository-name.js'
import { HEADS, TAGS, type PushedRef } from '../../../lib/domain/push.js'
import { ArgumentError, errorMessage } from '../../../lib/errors.js'
import { isRefName } from '../../../lib/git/ref-name.js'
import { MAX_REFS, parsePush, type SentPush } from '../../../lib/service/pushes.js'
import type { RefChange } from '../gate/gate.js'
import { git } from '../gate/git.js'
import { counted } from '../terminal/counted.js'
import { pathIn, warn, type Io } from '../terminal/io.js'
import { visible } from '../terminal/visible.js'
import { WaitingPushes } from './waiting-pushes.js'

/** Whoever pushes waits no longer. */
const MILLISECONDS = 4_500

/** Branches and tags of one push that are told: what has more is a mirror, say. */
const MAX_TOLD = 1_000

/** What a service takes of them at once. */
const MAX_PART_BYTES = 15_000

/**
 * Lets pushes be noted by the service.
 * @param use notes one after the other; what is wrong with one of them is an ArgumentError
 */
export type Way = (use: (note: (push: SentPush) => Promise<unknown>) => Promise<void>) => Promise<void>

/**
 * Hands a push over, behind those that wait. Never rejects.
 * @param changes of refs; none: only what waits is handed over
 * @param pushers who may have pushed: the first that is the name of a user
 * @returns whether it was handed over, or waits
 */
export async function handOver(
  io: Io,
  changes: readonly RefChange[],
  pushers: readonly (string | undefined)[],
  way: () => Promise<Way>,
): Promise<boolean> {
  let waiting: WaitingPushes
  try {
    waiting = await keep(io, toldOf(io, changes), pushers)
  } catch (error) {
    warn(io, `the service is not told of this push: ${wordsOf(error)}`)
    return false
  }
  let timer: NodeJS.Timeout | undefined
  // No signal ends a disk that hangs.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`it took longer than ${MILLISECONDS / 1000} s`))
    }, MILLISECONDS)
  })
  try {
    await Promise.race([handOverAll(io, waiting, way), late])
  } catch (error) {
    const count = await waiting.list().then(
      (names) => counted(names.length, 'push waits', 'pushes wait'),
      () => 'it waits',
    )
    warn(io, `the service is not told yet: ${wordsOf(error)}; ${count}, and will go with the next one`)
  } finally {
    clearTimeout(timer)
  }
  return true
}

/** The branches and tags that are told. */
function toldOf(io: Io, changes: readonly RefChange[]): PushedRef[] {
  const refs = changes
    .filter(({ ref }) => [HEADS, TAGS].some((prefix) => ref.startsWith(prefix)) && isRefName(ref))
    .map(({ ref, old: before, new: after }) => ({ ref, before, after }))
  if (refs.length > MAX_TOLD) warn(io, `the service is told of the first ${MAX_TOLD} of ${refs.length} refs`)
  return refs.slice(0, MAX_TOLD)
}

/** First of all: whatever becomes of this process, the push is handed over. */
async function keep(io: Io, refs: readonly PushedRef[], pushers: readonly (string | undefined)[]) {
  // The one whose refs are pushed to, also from a work tree beside it.
  const waiting = new WaitingPushes(await realpath(pathIn(io, await git(io, 'rev-parse', '--git-common-dir'))))
  const pusher = pushers.find((name) => name !== undefined && isUserName(name))
  const push = { id: randomUUID(), ...(pusher !== undefined && { pusher }) }
  const lost = refs.length === 0 ? 0 : await waiting.add(partsOf(refs).map((part) => ({ ...push, refs: part })))
  if (lost > 0) warn(io, `too many pushes wait for the service: ${counted(lost, 'push is', 'pushes are')} given up`)
  return waiting
}

/** As many refs in each as a service takes. */
function partsOf(refs: readonly PushedRef[]): readonly PushedRef[][] {
  const parts: PushedRef[][] = []
  let room = 0
  for (const ref of refs) {
    const length = Buffer.byteLength(JSON.stringify(ref)) + 1
    const part = parts.at(-1)
    if (part && part.length < MAX_REFS && length <= room) part.push(ref)
    else {
      parts.push([ref])
      room = MAX_PART_BYTES
    }
    room -= length
  }
  return parts
}

async function handOverAll(io: Io, waiting: WaitingPushes, way: () => Promise<Way>): Promise<void> {
  const names = await waiting.list()
  if (names.length === 0) return
  const through = await way()
  await through(async (note) => {
    for (const name of names) {
      const text = await waiting.read(name)
      try {
        if (text !== undefined) await note(pushIn(text))
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error
        warn(io, `what was pushed is given up: ${wordsOf(error)}`)
      }
      await waiting.remove(name)
    }
  })
}

/** @throws ArgumentError */
function pushIn(text: string): SentPush {
  try {
    return parsePush(JSON.parse(text))
  } catch (cause) {
    throw new ArgumentError(errorMessage(cause), { cause })
  }
}

function wordsOf(error: unknown): string {
  return visible(errorMessage(error))
}
