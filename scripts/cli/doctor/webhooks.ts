import { stat } from 'node:fs/promises'
import { remoteAdministration } from '../../../lib/admin/client.js'
import type { Administration, ListedHook } from '../../../lib/admin/administration.js'
import { socketPath } from '../../../lib/admin/socket-path.js'
import { silentLogger } from '../../../lib/contracts/logger.js'
import { openAdministration } from '../../../lib/embedding/open-administration.js'
import { errorMessage } from '../../../lib/errors.js'
import { levelFolder } from '../../../lib/store/address.js'
import type { Settings } from '../../../lib/stand-alone/settings.js'
import { AddressPolicy } from '../../../lib/webhooks/address-policy.js'
import { isMailto } from '../../../lib/webhooks/mail-addresses.js'
import { mailServerFault } from '../../../lib/webhooks/mail-sender.js'
import { DerivedSecrets } from '../../../lib/webhooks/secrets.js'
import { checkMail } from '../../../lib/webhooks/sending.js'
import { userName } from '../administration/user-name.js'
import { counted } from '../terminal/counted.js'
import { doubtful, ok, wrong, type Finding } from './findings.js'

/** How long a service or a mail server may take for an answer. */
const ANSWER_MILLISECONDS = 5_000

/** The key of webhooks, each of them and how it does, and the mail server; nothing where there are no webhooks. */
export async function webhooks(settings: Settings): Promise<Finding[]> {
  const { secretFile, allow } = settings.hooks
  if (secretFile === '') return []
  const hooks = await listed(settings)
  const policy = new AddressPolicy(allow)
  const looked = await Promise.all([
    key(secretFile, hooks.length),
    ...hooks.map(async (hook) => [state(hook), ...(await address(hook, policy))]),
    mails(
      settings.mail,
      hooks.some(({ receiver }) => isMailto(receiver)),
    ),
  ])
  return looked.flat()
}

/** Those of a service that runs, or of a database; that a store cannot be reached is said where it is looked at. */
async function listed(settings: Settings): Promise<ListedHook[]> {
  const folder = levelFolder(settings.store)
  const list = async (administration: Administration) => await administration.listHooks(null)
  try {
    if (folder !== undefined) return await list(remoteAdministration(socketPath(folder), ANSWER_MILLISECONDS))
    const opened = await openAdministration(settings, { auditLogger: silentLogger })
    return await list(opened.administration).finally(async () => await opened.close())
  } catch {
    return []
  }
}

/** @param hooks how many there are */
async function key(file: string, hooks: number): Promise<Finding[]> {
  const found = await stat(file).catch((error: unknown) => errorMessage(error))
  if (typeof found === 'string') {
    const lost = 'webhooks whose secret was made of it sign with another one after the next start'
    return hooks === 0 ? [] : [doubtful('webhooks', `the key ${file} is not there: ${found}; ${lost}`)]
  }
  try {
    // Of a key that is there, nothing is made.
    new DerivedSecrets(file).of({ id: '', secret: { generation: 1 } }, 0)
  } catch (error) {
    return [wrong('webhooks', errorMessage(error))]
  }
  const owner = (await userName(found.uid)) ?? `user ${found.uid}`
  return (found.mode & 0o077) === 0
    ? [ok('webhooks', `the key ${file} of ${owner}, ${counted(hooks, 'webhook')}`)]
    : [doubtful('webhooks', `the key ${file} is open to others than ${owner}, who could sign as the service does`)]
}

function state(hook: ListedHook): Finding {
  const { id, on, receiver, waiting, waiting_since, failing_since, next_attempt_at, behind_since, last } = hook
  const name = `${id} on ${on} to ${receiver}`
  const queue = waiting === 0 ? 'nothing waits' : `${waiting} wait since ${waiting_since}`
  const again = `commit-status hook resend ${id} --since ${behind_since}`
  const resend = `nothing of ${behind_since} and later was kept: ${again}`
  if (hook.state === 'stopped')
    return wrong('webhook', `${name} is stopped: ${hook.stopped_because}; once it is resumed, ${resend}`)
  if (hook.state === 'paused') return doubtful('webhook', `${name} is paused; ${queue}`)
  if (failing_since !== undefined)
    return wrong(
      'webhook',
      `${name} fails since ${failing_since}: ${last?.reason}; the next attempt is at ${next_attempt_at}; ${queue}`,
    )
  return behind_since === undefined
    ? ok('webhook', `${name} is active; ${queue}`)
    : doubtful('webhook', `${name} is active; ${resend}`)
}

/** Whether what a webhook is sent to has an address, and one that is called. */
async function address({ id, on, receiver }: ListedHook, policy: AddressPolicy): Promise<Finding[]> {
  if (isMailto(receiver)) return []
  try {
    await policy.check(receiver)
    return []
  } catch (error) {
    return [wrong('webhook', `${id} on ${on}: ${errorMessage(error)}`)]
  }
}

async function mails({ server, sender }: Settings['mail'], areWanted: boolean): Promise<Finding[]> {
  if (server === '')
    return areWanted ? [wrong('mail', 'mail.server is not set, and there are webhooks of mailto:')] : []
  try {
    checkMail({ server, sender })
  } catch (error) {
    return [wrong('mail', errorMessage(error))]
  }
  const { host } = new URL(server)
  const fault = await mailServerFault(server, ANSWER_MILLISECONDS)
  return [fault === undefined ? ok('mail', `${host} takes mails from ${sender}`) : wrong('mail', `${host}: ${fault}`)]
}
