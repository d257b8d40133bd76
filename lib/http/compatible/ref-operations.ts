import type { CommitContent, CommitContents } from '../../git/commit-content.js'
import type { GateRule, GateRules } from '../../git/gate-rules.js'
import type { MergedBranches } from '../../git/merged-branches.js'
import type { PeeledRef } from '../../git/objects.js'
import type { Ref } from '../../git/ref-list.js'
import type { RefLists } from '../../git/ref-lists.js'
import type { Refs } from '../../git/refs.js'
import type { Tag, Tags } from '../../git/tags.js'
import { ServiceError } from '../../errors.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { LocatedCommit, StatusLists } from '../../service/status-lists.js'
import { digestOf } from '../digest.js'
import { jsonBytes, type Answer } from '../exchange.js'
import type { Call } from './api.js'
import { pageLinks, pageOf, type Page, type PageRule } from './paging.js'

export const BRANCHES = 'refs/heads/'
export const TAGS = 'refs/tags/'

export interface RefOperationsDependencies {
  readonly lists: StatusLists
  readonly refs: Refs
  readonly refLists: RefLists
  readonly gateRules: GateRules
  readonly tags: Tags
  readonly contents: CommitContents
  readonly merged: MergedBranches
}

/** Which refs of a repository are asked for. */
export interface RefsAsked {
  /** What their full names begin with. */
  readonly prefix: string
  readonly pages: PageRule
  /** Whether the last name comes first. */
  readonly descending?: boolean
  /** Absent: all. */
  readonly selects?: (ref: Ref, ruleOf: RuleOf) => boolean
}

/** What the gate asks of a ref, by its full name. */
export type RuleOf = (ref: string) => GateRule | undefined

export interface RefPage {
  readonly found: VisibleRepository
  readonly page: Page
  readonly refs: readonly Ref[]
  /** How many there are on all pages. */
  readonly total: number
  readonly ruleOf: RuleOf
}

/** A branch, and the latest commit of it. */
export interface LocatedBranch extends LocatedCommit {
  readonly name: string
  readonly content: CommitContent
  readonly rule: GateRule | undefined
}

export interface TagWithCommit extends Tag {
  /** `undefined` of a tag of something else. */
  readonly content: CommitContent | undefined
}

/** Branches, tags and other refs, as they are there. Whoever may not read a repository learns of none. */
export class RefOperations {
  readonly #dependencies: RefOperationsDependencies

  constructor(dependencies: RefOperationsDependencies) {
    this.#dependencies = dependencies
  }

  async page({ caller, query }: Call, name: RepositoryName | undefined, asked: RefsAsked): Promise<RefPage> {
    const { lists, refLists, gateRules } = this.#dependencies
    const found = await lists.find(caller, name)
    const { prefix, pages, descending = false, selects } = asked
    const page = pageOf(query, pages)
    const ruleOf = await gateRules.of(found.repository)
    const list = await refLists.of(found.repository)
    const { refs, total } = await list.page({
      prefix,
      descending,
      ...(selects && { selects: (ref) => selects(ref, ruleOf) }),
      skip: (page.number - 1) * page.size,
      limit: page.size,
    })
    return { found, page, refs, total, ruleOf }
  }

  /**
   * @param branch its short name
   * @param unknown what is said of one that is not there
   */
  async branch(
    { caller }: Call,
    name: RepositoryName | undefined,
    branch: string,
    unknown: string,
  ): Promise<LocatedBranch> {
    const { lists, refs, gateRules, contents } = this.#dependencies
    const at = await lists.findCommit(caller, name, async (repository) => {
      const commit = await refs.resolve(repository, BRANCHES + branch)
      if (!commit) throw new ServiceError('path_unknown', { text: unknown })
      return commit
    })
    const { repository } = at.found
    const [{ content }] = await contents.read(repository.directory, [{ id: at.commit.hex }])
    return { ...at, name: branch, content, rule: (await gateRules.of(repository))(BRANCHES + branch) }
  }

  /**
   * The ref of a full name.
   * @throws ServiceError, also where there is none
   */
  async ref(
    { caller }: Call,
    name: RepositoryName | undefined,
    ref: string,
  ): Promise<{ readonly found: VisibleRepository; readonly ref: PeeledRef }> {
    const { lists, refs } = this.#dependencies
    const found = await lists.find(caller, name)
    const id = await refs.exact(found.repository, ref)
    const [peeled] = id === undefined ? [] : await this.peeled(found, [{ name: ref, id }])
    if (!peeled) throw new ServiceError('path_unknown')
    return { found, ref: peeled }
  }

  /** With the objects that they name; without those that name none. */
  async peeled({ repository }: VisibleRepository, refs: readonly Ref[]): Promise<readonly PeeledRef[]> {
    return await this.#dependencies.tags.peeled(repository.directory, refs)
  }

  /** With what annotated tags say, and the commits that they name. */
  async tagsWithCommits(found: VisibleRepository, refs: readonly Ref[]): Promise<readonly TagWithCommit[]> {
    const { directory } = found.repository
    const tags = await this.#dependencies.tags.read(directory, refs)
    const commits = tags.map(({ target }) => target).filter(({ type }) => type === 'commit')
    const contents = new Map((await this.contents(found, commits)).map(({ id, content }) => [id, content]))
    return tags.map((tag) => ({ ...tag, content: contents.get(tag.target.id) }))
  }

  /** Which branches the default branch has all commits of; none is the default branch itself. */
  async mergedOf({ repository }: VisibleRepository, branches: readonly Ref[]): Promise<(branch: Ref) => boolean> {
    const { refs, merged } = this.#dependencies
    const head = await refs.resolve(repository, 'HEAD')
    return head ? await merged.into(repository.directory, head.hex, branches) : () => false
  }

  /** With what the commits say that they name; without those that name none, and nothing of one with very much text. */
  async contents<Named extends { readonly id: string }>(
    { repository }: VisibleRepository,
    named: readonly Named[],
  ): Promise<readonly (Named & { readonly content: CommitContent })[]> {
    return await this.#dependencies.contents.list(repository.directory, named)
  }
}

/** The full name of a ref, as clients name one: mostly without `refs/`. */
export function fullRef(ref: string): string {
  return ref.startsWith('refs/') ? ref : `refs/${ref}`
}

/** The name of a branch or tag that people see. */
export function shortRef({ name }: Ref): string {
  return name.replace(/^refs\/(?:heads|tags)\//, '')
}

/** The header that leads from a page to the others. */
export function linksOf(
  address: string,
  { page, total }: RefPage,
  pages: PageRule,
  query: Readonly<Record<string, string>> = {},
): { readonly Link?: string } {
  const value = pageLinks(address, query, pages, page, total)
  return value === undefined ? {} : { Link: value }
}

/** A list, with an entity tag. */
export function listed(items: readonly object[], headers: Answer['headers'] = {}): Answer {
  const body = jsonBytes(items)
  return { status: 200, body, digest: digestOf(body), headers }
}
