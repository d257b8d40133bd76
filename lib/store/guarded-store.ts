import { STATES, type CommitStatus } from '../commit-status.js'
import { atOnce, guarded, type Guard } from '../guard.js'
import { Schema } from '../schema.js'
import { StoreUnavailable, type Grant, type SavedStatus, type Store, type TokenRecord, type TokenUse } from './store.js'

/** A store of the host, behind a guard: see host-parts.ts. */
export function guardStore(store: Store, guard: Guard): Store {
  const { statuses, tokens, grants } = store
  const remove = statuses.remove?.bind(statuses)
  return {
    statuses: {
      save: async (...args) => await guarded(guard, 'statuses.save', () => statuses.save(...args), isSaved),
      list: async (...args) => await guarded(guard, 'statuses.list', () => statuses.list(...args), isStatusList),
      ...(remove && { remove: async (...args) => await guarded(guard, 'statuses.remove', () => remove(...args), isCount) }),
      // Read by commands only, a page at a time.
      scan: (...args) => statuses.scan(...args),
    },
    tokens: {
      get: async (...args) => await guarded(guard, 'tokens.get', () => tokens.get(...args), isTokenOrNothing),
      add: async (...args) => await guarded(guard, 'tokens.add', () => tokens.add(...args), isNothing),
      remove: async (...args) => await guarded(guard, 'tokens.remove', () => tokens.remove(...args), isBoolean),
      list: async (...args) => await guarded(guard, 'tokens.list', () => tokens.list(...args), isTokenList),
      noteUse: async (...args) => await guarded(guard, 'tokens.noteUse', () => tokens.noteUse(...args), isNothing),
    },
    grants: {
      // Without an answer nobody knows the right: to be tried again later, not to be taken for none.
      of: async (...args) => await guarded(guard, 'grants.of', () => grants.of(...args), isGrantList).catch(unavailable),
      set: async (...args) => await guarded(guard, 'grants.set', () => grants.set(...args), isNothing),
      remove: async (...args) => await guarded(guard, 'grants.remove', () => grants.remove(...args), isBoolean),
      list: async (...args) => await guarded(guard, 'grants.list', () => grants.list(...args), isGrantList),
    },
    renameRepository: async (...args) => await guarded(long(guard), 'renameRepository', () => store.renameRepository(...args), isNothing),
    deleteRepository: async (...args) => await guarded(long(guard), 'deleteRepository', () => store.deleteRepository(...args), isNothing),
    trouble() {
      try {
        const reason = atOnce(store.trouble())
        return reason === undefined || typeof reason === 'string' ? reason : 'the store does not say how it is'
      } catch {
        return 'the store does not say how it is'
      }
    },
    close: async () => await guarded(guard, 'close', () => store.close(), isNothing),
  }
}

function unavailable(cause: unknown): never {
  throw new StoreUnavailable('the store does not tell grants', { cause })
}

/** Moving all that a large repository has takes longer than one answer. */
function long(guard: Guard): Guard {
  return { ...guard, milliseconds: guard.milliseconds * 10 }
}

const string = { type: 'string' }
const text = { type: ['string', 'null'] }
const status = members({ id: string, sha: string, context: string, state: { enum: STATES }, description: text, target_url: text, created_at: string, updated_at: string })
const token = members({ id: string, digest: string, user: string, name: string, scopes: { type: 'array', items: string }, created_at: string, expires_at: text })
const use = members({ last_used_at: text })
const grant = members({ owner: string, user: string, access: { enum: ['read', 'write'] } })

const isSaved = new Schema<SavedStatus>({ type: 'object', required: ['status'], properties: { status, previous: status } }).is
const isStatusList = new Schema<CommitStatus[]>({ type: 'array', items: status }).is
const isToken = new Schema<TokenRecord>(token).is
const isTokenList = new Schema<(TokenRecord & TokenUse)[]>({ type: 'array', items: { allOf: [token, use] } }).is
const isGrantList = new Schema<Grant[]>({ type: 'array', items: grant }).is

function members(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', required: Object.keys(properties), properties }
}

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
