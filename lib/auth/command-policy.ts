import { LRUCache } from 'lru-cache'
import { chain, type MaybePromise, type MaybeSync } from '../concurrency/maybe-promise.js'
import type { Access, AccessPolicy } from '../contracts/access-policy.js'
import { cacheShares } from '../contracts/cache-shares.js'
import type { Logger } from '../contracts/logger.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { MAX_QUESTIONS, RightsCalls, type Right } from './rights-calls.js'

/**
 * Names that are asked about: what gitolite takes for one. At any other it ends, and leaves the questions of others
 * without an answer; one with an `@` before it is a group, whose rights nobody has by being called so.
 */
const REPOSITORY = /^(?!0$|.*(?:\.\.|\.git(?:\/|$)))[A-Za-z0-9][\w.@/+-]*$/
const USER = /^(?!0$)[A-Za-z0-9][\w.@+-]*$/

/** Bytes of memory that an answer takes besides its key. */
const ENTRY_BYTES = 200

export interface CommandPolicyOptions {
  /** The program and its arguments; `{access}` in them becomes `R` or `W`. */
  readonly command: readonly string[]
  /** How long an answer is remembered. */
  readonly seconds: number
  /** What the git server calls a repository; `undefined` where there is none. */
  readonly nameOf: (repository: RepositoryName) => MaybePromise<string | undefined>
  /** Is given why rights cannot be determined. */
  readonly logger: Logger
  /** How long a question may take. */
  readonly milliseconds?: number
  /** Of what is remembered. */
  readonly cacheBytes?: number
}

/**
 * The rights that a program of the git server tells. Nobody owns by name, and grants count for nothing.
 *
 * Of a repository that is not there the program is not asked, since it may take another time for it than for a private
 * one: the call is made all the same, about another one.
 */
export class CommandPolicy implements MaybeSync<AccessPolicy> {
  readonly #options: CommandPolicyOptions
  readonly #calls: RightsCalls
  readonly #remembered: LRUCache<string, boolean>
  /** What is asked about in place of a repository that is not there: the last one that was. */
  #other = 'commit-status'

  constructor(options: CommandPolicyOptions) {
    this.#options = options
    this.#calls = new RightsCalls(options.command, options.logger, options.milliseconds)
    this.#remembered = new LRUCache({
      maxSize: options.cacheBytes ?? cacheShares().grants,
      sizeCalculation: (_, key) => key.length + ENTRY_BYTES,
      ttl: options.seconds * 1000,
    })
  }

  access(user: string, repository: RepositoryName, wanted: Access = 'write'): MaybePromise<Access> {
    if (!USER.test(user)) return 'none'
    return this.#known(user, repository, wanted) ?? this.#find(user, repository, wanted)
  }

  async accessToEach(
    user: string,
    repositories: readonly RepositoryName[],
    wanted: Access = 'write',
  ): Promise<readonly Access[]> {
    if (!USER.test(user)) return repositories.map(() => 'none')
    const accesses: Access[] = []
    for (let at = 0; at < repositories.length; at += MAX_QUESTIONS)
      accesses.push(...(await this.#askTogether(user, repositories.slice(at, at + MAX_QUESTIONS), wanted)))
    return accesses
  }

  /**
   * What the program says of a user and a repository, now.
   * @returns `undefined` where it is never asked
   * @throws RightsUnavailable
   */
  async explain(user: string, repository: RepositoryName): Promise<Readonly<Record<Right, string>> | undefined> {
    const name = await this.#nameOf(repository)
    if (!USER.test(user) || name === undefined) return undefined
    const [R, W] = await Promise.all((['R', 'W'] as const).map((right) => this.#calls.ask(right, `${name}\t${user}`)))
    return { R: String(R), W: String(W) }
  }

  /** Ends the programs that run. */
  close(): void {
    this.#calls.close()
  }

  #known(user: string, repository: RepositoryName, wanted: Access): Access | undefined {
    const read = this.#remembered.get(keyOf('R', user, repository))
    const write = wanted === 'write' && read === true ? this.#remembered.get(keyOf('W', user, repository)) : false
    return read === undefined || write === undefined ? undefined : accessOf(read, write)
  }

  async #find(user: string, repository: RepositoryName, wanted: Access): Promise<Access> {
    const name = await this.#nameOf(repository)
    this.#other = name ?? this.#other
    return await this.#ask(user, repository, wanted, name)
  }

  /** @returns `undefined` where there is no such repository, or none that the program could know */
  #nameOf(repository: RepositoryName): MaybePromise<string | undefined> {
    return chain(this.#options.nameOf(repository), (name = '') => (REPOSITORY.test(name) ? name : undefined))
  }

  /** Of all of which it is not remembered, in one call for each right. */
  async #askTogether(user: string, repositories: readonly RepositoryName[], wanted: Access): Promise<Access[]> {
    const names = await Promise.all(repositories.map(async (repository) => await this.#nameOf(repository)))
    const may = async (right: Right): Promise<boolean[]> => {
      const asked: string[] = []
      const questions = repositories.map((repository, index) => {
        const [name, key] = [names[index], keyOf(right, user, repository)]
        const [line, known] = [`${name}\t${user}`, this.#remembered.get(key)]
        if (name !== undefined && known === undefined) asked.push(line)
        return { key, line, known }
      })
      const start = performance.now()
      const said = asked.length === 0 ? undefined : await this.#calls.askTogether(right, asked)
      return questions.map(({ key, line, known }) => {
        const answer = said?.get(line)
        if (answer === undefined) return known === true
        this.#remembered.set(key, !isDenied(answer), { start })
        return !isDenied(answer)
      })
    }
    const [read, write] = await Promise.all([may('R'), wanted === 'write' ? may('W') : []])
    return repositories.map((_, index) => accessOf(read[index] === true, write[index] === true))
  }

  /** @param name as `#nameOf` has found it */
  async #ask(user: string, repository: RepositoryName, wanted: Access, name: string | undefined): Promise<Access> {
    const may = async (right: Right): Promise<boolean> => {
      const key = keyOf(right, user, repository)
      const known = this.#remembered.get(key)
      if (known !== undefined) return known
      // What it says is as old as the question, not as the answer.
      const start = performance.now()
      const said = await this.#calls.ask(right, `${name ?? this.#other}\t${user}`)
      const answer = name !== undefined && !isDenied(said)
      this.#remembered.set(key, answer, { start })
      return answer
    }
    return accessOf(...(await Promise.all([may('R'), wanted === 'write' && may('W')])))
  }
}

/** The right that a program gives with what it says. */
export function accessSaid(said: Readonly<Record<Right, string>>): Access {
  return accessOf(!isDenied(said.R), !isDenied(said.W))
}

/** Whether the program says no. */
function isDenied(said: string): boolean {
  return said.includes('DENIED')
}

function keyOf(right: Right, user: string, { full }: RepositoryName): string {
  return `${right} ${user} ${full}`
}

/** Who may not read may do nothing. */
function accessOf(read: boolean, write: boolean): Access {
  return read ? (write ? 'write' : 'read') : 'none'
}
