import type { ListedHook } from '../admin/administration.js'
import type { HookAttempt, HookCondition } from '../contracts/hooks.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { repositoryPath } from '../http/page-paths.js'
import { conditionOf } from '../webhooks/delivery-log.js'
import { isMailto, mailAddresses } from '../webhooks/mail-addresses.js'
import { isolated } from './html/foreign-text.js'
import { html, type Content, type Html } from './html/html.js'
import type { Page } from './html/layout.js'
import { pagination, takeWithin } from './html/pagination.js'
import { lastingText, pill, shortened, timeText } from './html/text.js'

export interface WebhooksView {
  readonly base: string
  readonly name: RepositoryName
  /** Those that are told of the repository. */
  readonly hooks: readonly ListedHook[]
  /** Milliseconds since 1970. */
  readonly now: number
  /** How many of them are passed over. */
  readonly skip: number
}

/** Characters of what a hook is limited to. */
const MAX_LIMITS = 1_000

/** How hooks do, by their worst. */
const CONDITIONS = {
  active: ['success', '✓'],
  paused: ['pending', '●'],
  failing: ['failure', '✗'],
  stopped: ['error', '!'],
} as const satisfies Record<HookCondition, object>

/**
 * The hooks of a repository, for who may write to it. Of those that are on more than the repository it says no more
 * than where they lead and how they do: what became of a delivery may be news of another repository.
 */
export function webhooksPage({ base, name, hooks, now, skip }: WebhooksView): Page {
  const repository = base + repositoryPath(name)
  const here = `${repository}/webhooks`
  const own = hooks.filter(({ on }) => on === name.full)
  const listed = [...own, ...hooks.filter(({ on }) => on !== name.full)].slice(skip)
  return {
    title: `${name.full} webhooks`,
    trail: [
      [name.full, repository],
      ['Webhooks', here],
    ],
    content: (rowBytes) => {
      const toRow = (hook: ListedHook): Html => (own.includes(hook) ? ownRow(hook, now) : otherRow(hook))
      const shown = takeWithin(listed, rowBytes, toRow)
      const rest = listed.length - shown.length
      const next = `${here}?skip=${skip + shown.length}`
      return html`<h1>Webhooks</h1>
        <p>Who is told of what is reported here, and how it arrives. Admins of the service make and change them.</p>
        ${
          hooks.length === 0
            ? html`<p>There is none.</p>`
            : html`<ul class="rows">
                ${shown}
              </ul>`
        }
        ${pagination(skip > 0 && ['prev', here, 'The first ones'], rest > 0 && ['next', next, `${rest} more`])}`
    },
  }
}

function ownRow(hook: ListedHook, now: number): Html {
  const { id, receiver, waiting, waiting_since, failing_since, next_attempt_at, stopped_because, last } = hook
  const condition = conditionOf(hook)
  const line = (words: string, at: string | undefined, toText: typeof timeText): Content =>
    at !== undefined && html`<span class="more">${words} ${toText(at, now)}</span>`
  return html`<li>
    ${sign(condition)}
    <span class="what"
      ><strong>${hostOf(receiver)}</strong> <span class="sha">${id}</span>
      <span class="more">${isolated(shortened(limitsOf(hook), MAX_LIMITS))}</span>
      ${condition === 'stopped' && html`<span class="more">Stopped: ${stopped_because}</span>`}
      ${condition === 'failing' && line('Failing for', failing_since, lastingText)}
      ${condition === 'failing' && line('Next try', next_attempt_at, timeText)}
      ${line(`${waiting} waiting for`, waiting_since, lastingText)}</span
    >
    <span class="when">${lastText(last, now)}</span>
  </li>`
}

function otherRow(hook: ListedHook): Html {
  return html`<li>
    ${sign(conditionOf(hook))}
    <span class="what"
      ><strong>${hostOf(hook.receiver)}</strong> <span class="more">On more than this repository</span></span
    >
  </li>`
}

function sign(condition: HookCondition): Html {
  const [look, character] = CONDITIONS[condition]
  return pill(look, character, condition)
}

/** The host alone: of mails, too, whose addresses are those of people. */
function hostOf(receiver: string): string {
  if (!isMailto(receiver)) return new URL(receiver).host
  const hosts = mailAddresses(receiver).map((address) => address.replace(/^.*@/, ''))
  return `mail to ${[...new Set(hosts)].join(', ')}`
}

function limitsOf({ events, contexts, states, branches }: ListedHook): string {
  const lists = Object.entries({ contexts, states, branches })
  const limits = lists.flatMap(([name, list]) => (list ? `${name} ${list.join(', ')}` : []))
  return [events.join(', '), ...limits].join(' · ')
}

function lastText(last: HookAttempt | undefined, now: number): Content {
  if (!last) return 'nothing sent yet'
  return html`${timeText(last.at, now)}: ${outcomeOf(last)} · ${last.milliseconds} ms`
}

/** Without the reason, which is for admins: it may name what a machine's file or address is. */
function outcomeOf({ result, status }: HookAttempt): string {
  if (result === 'ok') return 'delivered'
  return status === undefined ? 'not delivered' : `the answer was ${status}`
}
