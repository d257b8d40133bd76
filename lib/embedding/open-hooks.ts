import { resolve } from 'node:path'
import type { HookAdministration } from '../admin/administration-dependencies.js'
import { CommitContents } from '../git/commit-content.js'
import type { GitProcesses } from '../git/git-process.js'
import { PushedCommits } from '../git/pushed-commits.js'
import type { RefLists } from '../git/ref-lists.js'
import type { Refs } from '../git/refs.js'
import type { Repositories } from '../contracts/repositories.js'
import type { CacheShares } from '../contracts/cache-shares.js'
import type { Clock } from '../contracts/clock.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import type { WholeStore } from '../contracts/store.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import { AdministrationError, StartError } from '../errors.js'
import { MOUNTS } from '../http/api-paths.js'
import { Pushes } from '../service/pushes.js'
import { Deliverer } from '../webhooks/deliverer.js'
import { DeliveryContent } from '../webhooks/delivery-content.js'
import { PushContent } from '../webhooks/push-content.js'
import { openSending } from '../webhooks/sending.js'
import { ToldRepositories } from '../webhooks/told-repositories.js'
import { buildInfo } from './build-info.js'
import type { CommitStatusOptions } from './options.js'

export interface SendingDependencies {
  readonly store: Pick<WholeStore, 'hooks' | 'contents'>
  readonly repositories: MaybeSync<Repositories>
  readonly refs: Pick<Refs, 'defaultBranch'>
  readonly clock: Clock
  readonly logger: Logger
  /** Where people see the service: what links begin with. */
  readonly address: () => string
  /** What the addresses of pages begin with, behind that. */
  readonly pagesBase: string
}

/**
 * What administration needs of hooks, with or without somebody who delivers.
 * @returns `undefined` where there are none
 */
export function openSender(
  { hooks, mail }: Pick<CommitStatusOptions, 'hooks' | 'mail'>,
  { store, repositories, refs, clock, logger, address, pagesBase }: SendingDependencies,
): HookAdministration | undefined {
  const { secretFile = '', allow = [] } = hooks ?? {}
  if (!store.hooks || !store.contents || secretFile === '') return undefined
  const { server = '', sender = '' } = mail ?? {}
  const addresses = {
    get root() {
      return address()
    },
    get base() {
      return address() + MOUNTS.github[0]
    },
    get pages() {
      return address() + pagesBase
    },
  }
  const sending = openSending(
    { allow, secretFile: resolve(secretFile), ...(server !== '' && { mail: { server, sender } }) },
    { repositories: new ToldRepositories(repositories, refs), addresses, clock, logger, version: buildInfo().version },
  )
  const pushes = new Pushes(store.hooks, clock)
  return { store: store.hooks, contents: store.contents, pushes, ...sending }
}

/** Begins to deliver. @throws StartError for a key that cannot sign what is for the hooks; the store is closed then */
export async function openDeliverer(
  { store: hooks, sender, secrets }: HookAdministration,
  {
    store,
    repositories,
    refLists,
    git,
    clock,
    logger,
    meter,
    shares,
  }: {
    readonly store: WholeStore
    readonly repositories: MaybeSync<Repositories>
    readonly refLists: RefLists
    readonly git: GitProcesses
    readonly clock: Clock
    readonly logger: Logger
    readonly meter: Meter
    readonly shares: CacheShares
  },
): Promise<Deliverer> {
  try {
    for (const hook of await hooks.list()) secrets.of(hook, clock.now())
  } catch (cause) {
    if (cause instanceof AdministrationError) {
      await store.close()
      throw new StartError(cause.message, { cause })
    }
    // Hooks that cannot be read are tried again by who delivers.
  }
  const contents = new CommitContents(git, undefined, shares.contents)
  const pushes = new PushContent({ repositories, pushes: new PushedCommits(git, contents) })
  const read = { statuses: store.statuses, outbox: hooks.outbox, repositories, refLists, contents, pushes }
  const content = new DeliveryContent(read)
  const contentOf = content.of.bind(content)
  const deliverer = new Deliverer({ hooks, sender, contentOf, clock, logger, meter })
  await deliverer.start()
  return deliverer
}
