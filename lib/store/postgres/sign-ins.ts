import type { FoundSignIn, SignIn, SignInBounds, SignInStore } from '../../contracts/sign-in-store.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { batchLoader, rowOfKey, type BatchLoader } from './batch-loader.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'
import { grantedIn, grantedTo, placesOf, type GrantedRow } from './grants.js'

interface SignInRow {
  readonly digest: Buffer
  readonly kind: SignIn['kind']
  readonly user_name: Buffer
  /** As text. */
  readonly ends_at: string
}

interface SignInKey {
  readonly digest: Buffer
  readonly repository: RepositoryName | undefined
}

type FoundRow = SignInRow & GrantedRow & { readonly at: string }

const COLUMNS = 'digest, kind, user_name, ends_at'
const ADD: Statement = {
  name: 'add-sign-in',
  // Its digest is new: whatever is there came from the same call.
  text: `INSERT INTO commit_status.sign_ins (${COLUMNS}) VALUES ($1, 'link', $2, $3) ON CONFLICT (digest) DO NOTHING`,
}
const GET: Statement = {
  name: 'get-sign-ins',
  text: `SELECT asked.at, s.digest, s.kind, s.user_name, s.ends_at, ${grantedTo('s.user_name')}
FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS asked (digest, owner, repository, at)
JOIN commit_status.sign_ins AS s ON s.digest = asked.digest`,
}
/** Of two who do so at once the second finds no link; who removes a user's meanwhile waits, and meets the session. */
const EXCHANGE: Statement = {
  name: 'exchange-link',
  text: `UPDATE commit_status.sign_ins SET kind = 'session', digest = $2, ends_at = $3
WHERE digest = $1 AND kind = 'link'`,
}
const REMOVE: Statement = { name: 'remove-sign-in', text: 'DELETE FROM commit_status.sign_ins WHERE digest = $1' }
const REMOVE_OF: Statement = {
  name: 'remove-sign-ins-of',
  text: `DELETE FROM commit_status.sign_ins WHERE user_name = $1 RETURNING ${COLUMNS}`,
}
const MAKE_ROOM: Statement = {
  name: 'make-room-for-sign-in',
  text: `DELETE FROM commit_status.sign_ins WHERE ends_at <= $1
OR digest IN (SELECT digest FROM commit_status.sign_ins WHERE kind = $2 AND user_name = $3
  ORDER BY ends_at DESC, digest OFFSET $4)
OR digest IN (SELECT digest FROM commit_status.sign_ins WHERE kind = $2 ORDER BY ends_at DESC, digest OFFSET $5)`,
}

/** Links and sessions for all instances, read from the database each time: what one has ended is over everywhere. */
export class PostgresSignIns implements SignInStore {
  readonly #database: PostgresDatabase
  readonly #signIns: BatchLoader<SignInKey, FoundRow | undefined>

  constructor(database: PostgresDatabase) {
    this.#database = database
    this.#signIns = batchLoader(async (keys) => {
      const rows = await database.query<FoundRow>(GET, [keys.map(({ digest }) => digest), ...placesOf(keys)])
      return rowOfKey(keys, rows)
    })
  }

  async add(digest: string, { user, endsAt }: { user: string; endsAt: number }): Promise<void> {
    await this.#database.change(ADD, [bytes(digest), Buffer.from(user), endsAt])
  }

  async get(digest: string, repository?: RepositoryName): Promise<FoundSignIn | undefined> {
    const key = { digest: bytes(digest), repository }
    const row = await this.#database.keepingOpen(async () => await this.#signIns.load(key))
    return row && { ...fromRow(row), ...(repository && { granted: grantedIn(row) }) }
  }

  async exchange(link: string, session: string, endsAt: number): Promise<boolean> {
    // Once: sent again, it would find no link where the first one went through.
    return (await this.#database.change(EXCHANGE, [bytes(link), bytes(session), endsAt], { once: true })) > 0
  }

  async remove(digest: string): Promise<void> {
    await this.#database.change(REMOVE, [bytes(digest)])
  }

  async removeOf(user: string): Promise<SignIn[]> {
    return (await this.#database.query<SignInRow>(REMOVE_OF, [Buffer.from(user)])).map(fromRow)
  }

  async makeRoom(kind: SignIn['kind'], user: string, now: number, bounds: SignInBounds): Promise<void> {
    const { ofUser, altogether } = bounds
    await this.#database.change(MAKE_ROOM, [now, kind, Buffer.from(user), ofUser - 1, altogether - 1])
  }
}

function bytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}

function fromRow({ kind, user_name, ends_at }: SignInRow): SignIn {
  return { kind, user: user_name.toString(), endsAt: Number(ends_at) }
}
