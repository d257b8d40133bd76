import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { LineTooLong, linesOf } from '../../../lib/admin/ndjson.js'
import type { CommitStatus } from '../../../lib/domain/commit-status.js'
import { repositoryPath } from './service-address.js'
import { has, parsed, RequestFailed, sendForStream, unexpected, type Endpoint } from './service-client.js'

/** What comes of a repository that is followed. */
export type ReceivedEvent =
  | { readonly event: 'status'; readonly repository: unknown; readonly status: CommitStatus }
  | { readonly event: 'gap'; readonly repository: unknown }

/** How long nothing may come: the service sends something every 15 seconds. */
const SILENCE_MILLISECONDS = 45_000

/** An answer that is no stream is smaller. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** How many of the last events are known: on another instance some may come twice. */
const MAX_KNOWN = 1000

/** What goes back to the service: nothing but what a header can hold. */
const ID = /^[!-~]{1,200}$/

/** Follows a repository over HTTP (server-sent events), one connection after the other. */
export class FollowedRepository {
  readonly #endpoint: Endpoint
  readonly #silenceMilliseconds: number
  /** Of the last event. */
  #lastId: string | undefined
  readonly #known = new Set<string>()

  constructor(endpoint: Endpoint, silenceMilliseconds = SILENCE_MILLISECONDS) {
    this.#endpoint = endpoint
    this.#silenceMilliseconds = silenceMilliseconds
  }

  /**
   * What comes over one connection; over the next one it goes on behind that.
   * @throws RequestFailed when there is none, or what comes is not of a service; ServiceNotReached
   */
  async *events(signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
    const { url, token, repository } = this.#endpoint
    const over = new AbortController()
    const end = (): void => {
      over.abort()
    }
    signal.addEventListener('abort', end)
    const silence = setTimeout(end, this.#silenceMilliseconds)
    try {
      const address = new URL(`${repositoryPath(repository)}/events`, url)
      const stream = await sendForStream(address, token, 'text/event-stream', {
        headers: this.#lastId === undefined ? {} : { 'Last-Event-ID': this.#lastId },
        patience: over.signal,
        maxBytes: MAX_ANSWER_BYTES,
      })
      if (!(stream instanceof Readable)) throw unexpected(stream, repository)
      let fields = NONE
      for await (const line of linesUntilEnd(stream, over.signal, url)) {
        silence.refresh()
        const [, name = '', value = ''] = /^(\w+): ?([^]*)$/.exec(line) ?? []
        if (Object.hasOwn(NONE, name)) fields = { ...fields, [name]: value }
        if (line !== '') continue
        if (ID.test(fields.id)) this.#lastId = fields.id
        // What a later version may send besides is passed over.
        const { event, data } = fields
        if ((event === 'status' || event === 'gap') && this.#isNew(event, data)) yield received(event, data, url)
        fields = NONE
      }
    } finally {
      clearTimeout(silence)
      signal.removeEventListener('abort', end)
      end()
    }
  }

  #isNew(event: string, data: string): boolean {
    if (event === 'gap') return true
    const known = hash('sha256', data, 'base64')
    if (this.#known.has(known)) return false
    this.#known.add(known)
    for (const oldest of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break
      this.#known.delete(oldest)
    }
    return true
  }
}

/** The fields of an event that has none yet. */
const NONE = { event: '', id: '', data: '' }

/** The lines of a stream, also of one that is cut off: it is over then, as at its end. */
async function* linesUntilEnd(stream: Readable, signal: AbortSignal, url: URL): AsyncGenerator<string> {
  try {
    for await (const line of linesOf(stream, { signal })) yield line.replace(/\r$/, '')
  } catch (error) {
    if (error instanceof LineTooLong) throw notOfService(url, error)
  }
}

function received(event: ReceivedEvent['event'], data: string, url: URL): ReceivedEvent {
  const content = parsed(data)
  if (has(content, 'repository')) {
    if (event === 'gap') return { event, ...content }
    if (has(content, 'status') && isStatus(content.status)) return { event, ...content, status: content.status }
  }
  throw notOfService(url)
}

function isStatus(value: unknown): value is CommitStatus {
  const texts = ['sha', 'context', 'state', 'updated_at'] as const
  return has(value, ...texts) && texts.every((name) => typeof value[name] === 'string')
}

function notOfService({ origin }: URL, cause?: unknown): RequestFailed {
  return new RequestFailed(`${origin} does not answer as a commit-status service does: is the address right?`, {
    cause,
  })
}
