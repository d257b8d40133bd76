import { LRUCache } from 'lru-cache'
import type { Clock } from '../contracts/clock.js'
import type { BranchDelivery, Delivery, DeliveryResult, PingDelivery, Sender } from '../contracts/hooks.js'
import { errorMessage } from '../errors.js'
import { mailAddresses } from './mail-addresses.js'
import { mailText } from './mail-text.js'

export interface MailSettings {
  /** `smtp://` or `smtps://`, with a user and a password where the server wants them. */
  readonly server: string
  /** The address that mails are from. */
  readonly sender: string
}

export interface MailSenderDependencies {
  readonly clock: Clock
  /** What the addresses of pages begin with. */
  readonly pages: string
}

interface SentMail {
  /** The id of the delivery. */
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
}

type MailDelivery = BranchDelivery | PingDelivery

/** How long everything about a mail may take. */
const MAIL_MILLISECONDS = 10_000

/** There is no second mail of a branch within this time. */
const BRANCH_SECONDS = 600

/** Branches of which it is remembered when the last mail was. */
const MAX_BRANCHES = 10_000

/** Sends deliveries as mails: to the addresses of their hook alone, never to who wrote a commit. */
export class MailSender implements Sender {
  readonly #dependencies: MailSenderDependencies
  readonly #sender: string
  readonly #server: string
  readonly #milliseconds: number
  #transport: ReturnType<typeof transportTo> | undefined
  /** The last mail of a branch. */
  readonly #sent = new LRUCache<string, SentMail>({ max: MAX_BRANCHES })

  constructor(
    { server, sender }: MailSettings,
    dependencies: MailSenderDependencies,
    milliseconds = MAIL_MILLISECONDS,
  ) {
    this.#dependencies = dependencies
    this.#sender = sender
    this.#server = server
    this.#milliseconds = milliseconds
  }

  async send(delivery: Delivery, stopped: AbortSignal): Promise<DeliveryResult> {
    const start = performance.now()
    const result = await this.#result(delivery, stopped)
    return { ...result, milliseconds: Math.round(performance.now() - start) }
  }

  async #result(delivery: Delivery, stopped: AbortSignal): Promise<Omit<DeliveryResult, 'milliseconds'>> {
    if (delivery.event === 'status' || delivery.event === 'push')
      return { kind: 'refused', reason: 'mails are sent of broken and fixed alone' }
    const last = this.#sent.get(branchOf(delivery))
    // Others of the same commit had to wait, or it could not be noted that it is told.
    if (last?.id === delivery.id) return { kind: 'ok', reason: 'the mail server has taken it before' }
    const wait = last ? this.#secondsToWait(last) : 0
    if (wait > 0)
      return { kind: 'later', retryAfterSeconds: wait, reason: 'the last mail of the branch was just before' }
    const late = AbortSignal.timeout(this.#milliseconds)
    try {
      const { rejected } = await this.#mail(delivery, AbortSignal.any([late, stopped]))
      this.#remember(delivery)
      const some = rejected.length > 0 ? `, but not for ${rejected.length} of its addresses` : ''
      return { kind: 'ok', reason: `the mail server has taken it${some}` }
    } catch (error) {
      if (stopped.aborted) return { kind: 'failed', reason: 'it was broken off, since the service stops' }
      const seconds = this.#milliseconds / 1000
      return { kind: 'failed', reason: late.aborted ? `the mail server took more than ${seconds} s` : failureOf(error) }
    }
  }

  async #mail(delivery: MailDelivery, signal: AbortSignal) {
    const { subject, text } = mailText(delivery, this.#dependencies.pages)
    this.#transport ??= transportTo(new URL(this.#server))
    const transport = await this.#transport
    return await transport.sendMail({
      from: { name: 'commit-status', address: this.#sender },
      // As objects, which nobody takes apart again.
      to: mailAddresses(delivery.hook.url).map((address) => ({ name: '', address })),
      subject,
      text,
      // The same when it is tried again: who has it already need not show it twice.
      messageId: `<${delivery.id}@${this.#sender.replace(/^.*@/, '')}>`,
      // Nobody's absence is answered to us.
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal,
    })
  }

  #secondsToWait({ at }: SentMail): number {
    // A clock that was set back makes nobody wait for longer.
    return Math.min(Math.ceil(BRANCH_SECONDS - (this.#dependencies.clock.now() - at) / 1000), BRANCH_SECONDS)
  }

  #remember(delivery: MailDelivery): void {
    if (delivery.event !== 'ping')
      this.#sent.set(branchOf(delivery), { id: delivery.id, at: this.#dependencies.clock.now() })
  }
}

/**
 * Connects to a mail server and logs in, where it has a user, and sends nothing.
 * @param milliseconds how long each step of it may take
 * @returns what is wrong, in words
 */
export async function mailServerFault(server: string, milliseconds: number): Promise<string | undefined> {
  const limits = { connectionTimeout: milliseconds, greetingTimeout: milliseconds, socketTimeout: milliseconds }
  try {
    await (await transportTo(new URL(server), limits)).verify()
    return undefined
  } catch (error) {
    return failureOf(error)
  }
}

function branchOf(delivery: MailDelivery): string {
  return delivery.event === 'ping' ? '' : `${delivery.hook.id} ${delivery.repository.full} ${delivery.branch}`
}

async function transportTo({ protocol, hostname, port, username, password }: URL, limits: object = {}) {
  // Few commands and services need it.
  const { createTransport } = await import('nodemailer')
  const host = hostname.replace(/^\[|\]$/g, '')
  const isHere = /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host)
  const secure = protocol === 'smtps:'
  return createTransport({
    host,
    port: port === '' ? (secure ? 465 : username === '' ? 25 : 587) : Number(port),
    secure,
    // A password goes over no open line; what goes nowhere needs no certificate, which is seldom a good one there.
    ...(username === ''
      ? { ignoreTLS: isHere }
      : { requireTLS: true, auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    allowInternalNetworkInterfaces: true,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...limits,
  })
}

/** Without the server's words, which may repeat an address. */
function failureOf(error: unknown): string {
  if (error instanceof Error && 'responseCode' in error && 'command' in error)
    return `the mail server has answered ${String(error.responseCode)} to ${String(error.command)}`
  return `the mail server cannot be used: ${errorMessage(error)}`
}
