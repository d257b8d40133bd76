import type { BranchDelivery, PingDelivery } from '../contracts/hooks.js'
import type { StoredStatus } from '../domain/commit-status.js'
import { commitPageUrl } from '../http/compatible/formats.js'
import { inOneLine, short, shortened, textOf } from './texts.js'

/** A mail to people. */
export interface MailText {
  readonly subject: string
  readonly text: string
}

/** Checks that are described; the rest is counted. */
const MAX_CHECKS = 20

/** What a delivery says in a mail. @param pages what the addresses of pages begin with */
export function mailText(delivery: BranchDelivery | PingDelivery, pages: string): MailText {
  const { sentence } = textOf(delivery, pages)
  const said = delivery.event === 'ping' ? `${sentence}.` : branchLines(delivery, pages).join('\n')
  const { id, on } = delivery.hook
  const why = `You get this mail since the hook ${id} on ${on} has your address.`
  const end = `An admin ends it: commit-status hook delete ${id}`
  // The subject has no mark: those that lists of mails show tell nothing apart.
  return { subject: sentence.replace(/^\S+ /, ''), text: `${said}\n\n-- \n${why}\n${end}\n` }
}

function branchLines({ event, repository, branch, sha, statuses, commit }: BranchDelivery, pages: string): string[] {
  const [subject = ''] = commit?.message.split('\n') ?? []
  const by = commit ? `, ${shortened(inOneLine(`“${subject}” by ${commit.author.name}`))}` : ''
  const became = event === 'broken' ? 'broken' : 'fixed'
  const checks = statuses.slice(0, MAX_CHECKS).flatMap(event === 'broken' ? failedLines : nameLines)
  const more = statuses.length - MAX_CHECKS
  return [
    inOneLine(`The branch ${branch} of ${repository.full} is ${became} at ${short(sha)}${by}.`),
    commitPageUrl(pages, repository, sha),
    '',
    event === 'broken' ? 'Failed:' : 'Succeeded:',
    ...checks,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

function failedLines({ context, description, target_url }: StoredStatus): string[] {
  const detail = shortened(inOneLine(description ?? ''))
  return [
    `  ${inOneLine(context)}${detail === '' ? '' : `: ${detail}`}`,
    ...(target_url === null ? [] : [`    ${inOneLine(target_url)}`]),
  ]
}

function nameLines({ context }: StoredStatus): string[] {
  return [`  ${inOneLine(context)}`]
}
