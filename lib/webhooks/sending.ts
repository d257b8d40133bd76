import type { Clock } from '../contracts/clock.js'
import type { HookSecrets, Sender } from '../contracts/hooks.js'
import type { Logger } from '../contracts/logger.js'
import { StartError } from '../errors.js'
import type { Addresses } from '../http/compatible/api.js'
import { AddressPolicy, RefusedAddress } from './address-policy.js'
import { HttpClient } from './http-client.js'
import { isMailAddress, isMailto, mailAddresses } from './mail-addresses.js'
import { MailSender, type MailSettings } from './mail-sender.js'
import { DerivedSecrets } from './secrets.js'
import type { ToldRepositories } from './told-repositories.js'
import { WebhookSender } from './webhook-sender.js'

export interface SendingSettings {
  /** Addresses and CIDR ranges that may be called whatever they are. */
  readonly allow: readonly string[]
  /** Absolute path. */
  readonly secretFile: string
  /** Absent: no mails are sent. */
  readonly mail?: MailSettings
}

export interface SendingDependencies {
  readonly repositories: Pick<ToldRepositories, 'of'>
  /** Where people and programs see the service. */
  readonly addresses: Addresses
  readonly clock: Clock
  readonly logger: Logger
  /** Of this program. */
  readonly version: string
}

/** How deliveries get to their receivers. */
export interface Sending {
  readonly sender: Sender
  readonly secrets: HookSecrets
  /**
   * Looks at an address before there is a hook for it; what its name means is looked at when something is sent.
   * @throws RefusedAddress
   */
  readonly check: (address: string) => void
}

/**
 * Puts together what sends: over HTTP, and as mails to addresses of `mailto:`.
 * @throws StartError for settings of mails that cannot be meant
 */
export function openSending(settings: SendingSettings, dependencies: SendingDependencies): Sending {
  const { allow, secretFile, mail } = settings
  const { addresses, clock } = dependencies
  if (mail) checkMail(mail)
  const policy = new AddressPolicy(allow)
  const secrets = new DerivedSecrets(secretFile)
  const webhooks = new WebhookSender({ ...dependencies, client: new HttpClient(policy, clock), secrets })
  const mails = mail ? new MailSender(mail, { clock, pages: addresses.pages }) : noMails
  return {
    sender: {
      send: async (delivery, signal) => await (isMailto(delivery.hook.url) ? mails : webhooks).send(delivery, signal),
    },
    secrets,
    check: (address) => {
      if (!isMailto(address)) policy.parse(address)
      else if (mail) mailAddresses(address)
      else throw new RefusedAddress(NO_MAILS)
    },
  }
}

const NO_MAILS = 'mails are not sent here: mail.server is not set'

const noMails: Sender = {
  send: async () => await Promise.resolve({ kind: 'refused', milliseconds: 0, reason: NO_MAILS }),
}

/** @throws StartError without the server's address, which may hold a password */
export function checkMail({ server, sender }: MailSettings): void {
  if (!/^smtps?:\/\/./.test(server) || !URL.canParse(server))
    throw new StartError('mail.server must be smtp:// or smtps:// and a host')
  if (!isMailAddress(sender)) throw new StartError('mail.sender must be the address that mails are from')
}
