import type { StoredStatus } from '../domain/commit-status.js'
import { StoreUnavailable } from '../errors.js'
import {
  grantMembers,
  recordSchema,
  statusExtras,
  statusMembers,
  tokenExtras,
  tokenMembers,
  tokenUseMembers,
  type Grant,
  type SavedStatus,
  type TokenRecord,
  type TokenUse,
} from '../contracts/records.js'
import type { Store, WholeStore } from '../contracts/store.js'
import { Schema } from '../domain/schema.js'
import { completeStatuses } from './complete-store.js'
import { callPart, ignoreLateResult, type PartCall } from './guarded-call.js'

/** A store of the host, behind a guard (guarded-parts.ts), and whole. */
export function guardStore(store: Store, guard: PartCall): WholeStore {
  const { statuses, tokens, grants } = store
  const remove = statuses.remove?.bind(statuses)
  return {
    statuses: completeStatuses({
      save: async (...args) => await callPart(guard, 'statuses.save', () => statuses.save(...args), isSaved),
      list: async (...args) => await callPart(guard, 'statuses.list', () => statuses.list(...args), isStatusList),
      ...(remove && {
        remove: async (...args) => await callPart(guard, 'statuses.remove', () => remove(...args), isCount),
      }),
      // Read by commands only, a page at a time.
      scan: (...args) => statuses.scan(...args),
    }),
    tokens: {
      get: async (...args) => await callPart(guard, 'tokens.get', () => tokens.get(...args), isTokenOrNothing),
      add: async (...args) => await callPart(guard, 'tokens.add', () => tokens.add(...args), isNothing),
      remove: async (...args) => await callPart(guard, 'tokens.remove', () => tokens.remove(...args), isBoolean),
      list: async (...args) => await callPart(guard, 'tokens.list', () => tokens.list(...args), isTokenList),
      noteUse: async (...args) => await callPart(guard, 'tokens.noteUse', () => tokens.noteUse(...args), isNothing),
    },
    grants: {
      // Without an answer nobody knows the right: to be tried again later, not to be taken for none.
      of: async (...args) =>
        await callPart(guard, 'grants.of', () => grants.of(...args), isGrantList).catch(unavailable),
      set: async (...args) => await callPart(guard, 'grants.set', () => grants.set(...args), isNothing),
      remove: async (...args) => await callPart(guard, 'grants.remove', () => grants.remove(...args), isBoolean),
      list: async (...args) => await callPart(guard, 'grants.list', () => grants.list(...args), isGrantList),
    },
    renameRepository: async (...args) =>
      await callPart(long(guard), 'renameRepository', () => store.renameRepository(...args), isNothing),
    deleteRepository: async (...args) =>
      await callPart(long(guard), 'deleteRepository', () => store.deleteRepository(...args), isNothing),
    unavailableReason() {
      try {
        const reason = ignoreLateResult(store.unavailableReason())
        return reason === undefined || typeof reason === 'string' ? reason : 'the store does not say how it is'
      } catch {
        return 'the store does not say how it is'
      }
    },
    close: async () => await callPart(guard, 'close', () => store.close(), isNothing),
  }
}

function unavailable(cause: unknown): never {
  throw new StoreUnavailable('the store does not tell grants', { cause })
}

/** Moving all that a large repository has takes longer than one answer. */
function long(guard: PartCall): PartCall {
  return { ...guard, milliseconds: guard.milliseconds * 10 }
}

const text = { type: 'string' }
const status = recordSchema(statusMembers, statusExtras)
const token = recordSchema(tokenMembers, tokenExtras)
const listedToken = recordSchema({ ...tokenMembers, ...tokenUseMembers }, tokenExtras)
const grant = recordSchema({ owner: text, user: text, ...grantMembers })

const isSaved = new Schema<SavedStatus>({
  type: 'object',
  required: ['status'],
  properties: { status, previous: status },
}).is
const isStatusList = new Schema<StoredStatus[]>({ type: 'array', items: status }).is
const isToken = new Schema<TokenRecord>(token).is
const isTokenList = new Schema<(TokenRecord & TokenUse)[]>({ type: 'array', items: listedToken }).is
const isGrantList = new Schema<Grant[]>({ type: 'array', items: grant }).is

function isTokenOrNothing(answer: unknown): answer is TokenRecord | undefined {
  return answer === undefined || isToken(answer)
}

function isBoolean(answer: unknown): answer is boolean {
  return typeof answer === 'boolean'
}

function isCount(answer: unknown): answer is number {
  return Number.isSafeInteger(answer) && Number(answer) >= 0
}

function isNothing(answer: unknown): answer is undefined {
  return answer === undefined
}
