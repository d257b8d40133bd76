import { createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { HookRecord, HookSecrets } from '../contracts/hooks.js'
import { AdministrationError, errorMessage } from '../errors.js'
import { undefinedFor } from '../git/stat.js'

/** What is before the secrets of Standard Webhooks. */
export const SECRET_PREFIX = 'whsec_'

/** How long the secret before the last rotation is good, too. */
const ROTATION_MILLISECONDS = 24 * 60 * 60 * 1000

/** How far ahead the clock of another instance may be: a time later than that was written while a clock was wrong. */
const SKEW_MILLISECONDS = 60 * 1000

/** The fewest characters of a key that nobody guesses. */
const MIN_KEY = 32

/**
 * Secrets of hooks, made of one key in a file: no store, backup or export holds them. Several instances need the same
 * key. The file is made when the first secret is needed, and is for its owner alone.
 */
export class DerivedSecrets implements HookSecrets {
  readonly #file: string
  #key: string | undefined

  /** @param file absolute path, in a folder that is there */
  constructor(file: string) {
    this.#file = file
  }

  /** @throws AdministrationError when the key cannot be read or made */
  of({ id, secret }: Pick<HookRecord, 'id' | 'secret'>, now: number): ReturnType<HookSecrets['of']> {
    const { generation = 1, given, rotated_at, given_before } = secret
    const current = given ?? this.#secret(id, generation)
    const age = rotated_at === undefined ? Infinity : now - Date.parse(rotated_at)
    const isFresh = age > -SKEW_MILLISECONDS && age < ROTATION_MILLISECONDS
    return { current, ...(isFresh && { previous: given_before ?? this.#secret(id, generation - 1) }) }
  }

  #secret(id: string, generation: number): string {
    this.#key ??= keyIn(this.#file)
    return SECRET_PREFIX + createHmac('sha256', this.#key).update(`hook:${id}:${generation}`).digest('base64')
  }
}

function keyIn(file: string): string {
  try {
    const key = (existing(file) ?? made(file)).trim()
    if (key.length >= MIN_KEY) return key
    throw new Error(`${file} must hold ${MIN_KEY} characters or more`)
  } catch (cause) {
    throw new AdministrationError(`hooks.secretFile cannot be used: ${errorMessage(cause)}`, { cause })
  }
}

function existing(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    undefinedFor('ENOENT')(error)
    return undefined
  }
}

/** Makes the key, where no other instance is doing so, and its folder: with a database nothing else does. */
function made(file: string): string {
  try {
    mkdirSync(dirname(file), { mode: 0o700 })
  } catch (error) {
    undefinedFor('EEXIST')(error)
  }
  const key = `${randomBytes(32).toString('base64url')}\n`
  writeFileSync(file, key, { mode: 0o600, flag: 'wx', flush: true })
  return key
}
