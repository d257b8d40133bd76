import type { Clock } from '../contracts/clock.js'
import type { Delivery, DeliveryResult, HookSecrets, Sender } from '../contracts/hooks.js'
import type { Logger } from '../contracts/logger.js'
import { AdministrationError } from '../errors.js'
import type { Addresses } from '../http/compatible/api.js'
import { branchBody, hookNumber, pingBody, pushBody, statusBody } from './github-bodies.js'
import type { HttpClient, Message } from './http-client.js'
import { signatureHeaders } from './signatures.js'
import { chatLine, textLines, textOf } from './texts.js'
import type { ToldRepositories } from './told-repositories.js'

export interface WebhookSenderDependencies {
  readonly client: Pick<HttpClient, 'post'>
  readonly secrets: HookSecrets
  readonly repositories: Pick<ToldRepositories, 'of'>
  readonly addresses: Addresses
  readonly clock: Clock
  readonly logger: Logger
  /** Of this program. */
  readonly version: string
}

/** After that long, what could not be said or signed is tried again. */
const FAULT_SECONDS = 60

/** Sends deliveries over HTTP, in the format of their hook and with the headers of everybody. */
export class WebhookSender implements Sender {
  readonly #dependencies: WebhookSenderDependencies
  /** When a fault of ours was logged last, milliseconds since 1970 UTC. */
  #logged = -Infinity

  constructor(dependencies: WebhookSenderDependencies) {
    this.#dependencies = dependencies
  }

  async send(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    let message: Message
    try {
      message = await this.#message(delivery)
    } catch (error) {
      this.#log(delivery, error)
      const what = error instanceof AdministrationError ? 'the key of hooks.secretFile' : 'the repository'
      return {
        ...{ kind: 'later', retryAfterSeconds: FAULT_SECONDS, milliseconds: 0 },
        reason: `${what} cannot be read: nothing was sent`,
      }
    }
    return await this.#dependencies.client.post(delivery.hook.url, message, signal)
  }

  /** Logs a fault that is not the receiver's: the first of many in a minute. */
  #log(delivery: Delivery, err: unknown): void {
    const { clock, logger } = this.#dependencies
    const now = clock.now()
    if (Math.abs(now - this.#logged) < FAULT_SECONDS * 1000) return
    this.#logged = now
    const repository = delivery.event === 'ping' ? undefined : delivery.repository.full
    logger.error({ hook: delivery.hook.id, repository, err }, 'deliveries cannot be made: they are tried again')
  }

  async #message(delivery: Delivery): Promise<Message> {
    const { secrets, clock, version } = this.#dependencies
    const { id, hook, event } = delivery
    const now = clock.now()
    const body = Buffer.from(await this.#body(delivery))
    return {
      headers: {
        'Content-Type': hook.format === 'text' ? 'text/plain; charset=utf-8' : 'application/json',
        'User-Agent': `commit-status/${version}`,
        ...eventHeaders(id, event),
        'X-GitHub-Hook-ID': String(hookNumber(hook.id)),
        ...signatureHeaders(secrets.of(hook, now), id, Math.floor(now / 1000), body),
      },
      body,
    }
  }

  async #body(delivery: Delivery): Promise<string> {
    const { addresses } = this.#dependencies
    const { format } = delivery.hook
    if (format === 'github') return JSON.stringify(await this.#githubBody(delivery))
    const text = textOf(delivery, addresses.pages)
    return format === 'chat' ? JSON.stringify({ text: chatLine(text) }) : textLines(text)
  }

  async #githubBody(delivery: Delivery): Promise<object> {
    const { addresses, repositories } = this.#dependencies
    if (delivery.event === 'ping') return pingBody(addresses, delivery)
    const told = await repositories.of(delivery.repository)
    if (delivery.event === 'push') return pushBody(addresses, told, delivery)
    return delivery.event === 'status' ? statusBody(addresses, told, delivery) : branchBody(addresses, told, delivery)
  }
}

/** Each vendor's, on every message: a receiver reads those that it knows. */
function eventHeaders(id: string, event: Delivery['event']): Record<string, string> {
  const vendors = ['GitHub', 'Gitea', 'Forgejo', 'Gogs']
  return Object.fromEntries(
    vendors.flatMap((vendor): [string, string][] => [
      [`X-${vendor}-Event`, event],
      [`X-${vendor}-Delivery`, id],
    ]),
  )
}
