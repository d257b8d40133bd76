import type { Test } from 'tap'
import type { Store } from '../../lib/contracts/store.js'
import { closeSuite } from './store-close.js'
import { contentsSuite } from './store-contents.js'
import { grantSuite } from './store-grants.js'
import { hookSuite } from './store-hooks.js'
import { modelSuite } from './store-model.js'
import { pendingSuite } from './store-pending.js'
import { reporterSuite } from './store-reporters.js'
import { statusSuite } from './store-statuses.js'
import { tokenSuite } from './store-tokens.js'

/** Where one store keeps its data: nothing at first, and at every further opening what was there before. */
export interface StorePlace {
  /** Opens the store; the one that was opened before has been closed. */
  open(): Promise<Store>
  /** Of a store that leaves out since when a status has been pending. */
  readonly withoutPendingSince?: true
  /** Of a store whose lists are all sent from memory. */
  readonly withoutLargeLists?: true
}

/** Makes a new, empty place for each call. What is still open at the end of `t` is closed then. */
export type StoreFactory = (t: Test) => StorePlace | Promise<StorePlace>

/**
 * What lib/contracts/store.ts promises: every store passes. It knows nothing of any of them.
 * @param keepsHooks whether it keeps hooks with the statuses
 */
export function storeSuite(t: Test, factory: StoreFactory, keepsHooks = true): void {
  t.test('statuses', async (t) => statusSuite(t, factory))
  t.test('reporters', async (t) => reporterSuite(t, factory))
  t.test('pending', async (t) => pendingSuite(t, factory))
  t.test('tokens', async (t) => tokenSuite(t, factory))
  t.test('grants', async (t) => grantSuite(t, factory))
  t.test('close and open', async (t) => closeSuite(t, factory))
  t.test('contents', async (t) => contentsSuite(t, factory))
  if (keepsHooks) t.test('hooks', async (t) => hookSuite(t, factory))
  t.test('model', async (t) => modelSuite(t, factory))
}

/** A store of its own for a test that opens one only once. */
export async function openedStore(t: Test, factory: StoreFactory): Promise<Store> {
  return await (await factory(t)).open()
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
