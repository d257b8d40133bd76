import type { OutgoingHttpHeaders } from 'node:http'
import { chain, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { repositoryName, type RepositoryName } from '../../domain/repository-name.js'
import type { ReportShape } from '../../domain/report.js'
import type { ReportedStatus } from '../../domain/status-list.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import type { LocatedCommit } from '../../service/status-lists.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleRoute } from './api.js'
import { refPath } from './formats.js'
import { creators, type ListForm } from './listing.js'
import type { Operations } from './operations.js'
import { pageLinks, pageOf, type PageRule } from './paging.js'

/** What of a query changes which statuses are shown, and their order. */
export interface Filter extends Pick<ListForm, 'selects' | 'compare'> {
  readonly query: Readonly<Record<string, string>>
  /** Another one for another query. */
  readonly key: string
}

/** All statuses, the newest first. */
export const ALL: Filter = { query: {}, key: '' }

interface Located {
  readonly url: string
}

/** What the statuses of a commit come to. */
export interface Combined<Status, Repository> {
  readonly state: 'success' | 'failure' | 'pending'
  readonly statuses: Status[]
  readonly sha: string
  /** Also of those that are on other pages. */
  readonly total_count: number
  readonly repository: Repository
  readonly commit_url: string
  readonly url: string
}

/** What a maker's API has of its own, where its calls are those of GitHub. */
export interface Maker<Person extends object, Status extends Located, Repository extends object> {
  readonly name: string
  readonly pages: PageRule
  /** What the body of a report means. */
  readonly shapeOf: (body: Buffer) => ReportShape
  /** What a report on a commit that is not there is answered with, when it is not 404. */
  readonly missingCommit?: 422
  /** Whether the answer to a report says in a header where the status is. */
  readonly locates?: true
  /** Absent: a list has all statuses, the newest first. */
  readonly filterOf?: (query: URLSearchParams) => Filter
  /** Of a list, besides its links. */
  readonly headersOf: (total: number) => OutgoingHttpHeaders
  readonly person: (call: Call, login: string) => Person
  readonly status: (url: string, status: ReportedStatus, creator: Person | null) => Status
  /** A repository as a part of a combined status. */
  readonly repository: (call: Call, at: LocatedCommit, branch: string) => MaybePromise<Repository>
  /** Holds the combined status against what the maker promises. */
  readonly combined: (combined: Combined<Status, Repository>) => object
}

/** The pattern that the path of everything in a repository begins with. */
export const REPOSITORY = String.raw`^/repos/(?<owner>[^/]+)/(?<repo>[^/]+)`

export function nameIn({ owner = '', repo = '' }: Call['params']): RepositoryName | undefined {
  return repositoryName(owner, repo)
}

export function nameOf({ params }: Call): RepositoryName | undefined {
  return nameIn(params)
}

export function repositoryUrl({ base }: Pick<Call, 'base'>, { name }: VisibleRepository): string {
  return `${base}/repos/${name.escaped}`
}

/** Reports, lists and combined states, at the addresses that GitHub has them at and others have taken from it. */
export function statusRoutes<Person extends object, Status extends Located, Repository extends object>(
  operations: Operations,
  maker: Maker<Person, Status, Repository>,
): CompatibleRoute[] {
  const { name, pages, missingCommit } = maker

  const shownAs = (call: Call, found: VisibleRepository): ((status: ReportedStatus) => Status) => {
    const statusesUrl = `${repositoryUrl(call, found)}/statuses`
    const creatorOf = creators((login) => maker.person(call, login))
    return (status) => maker.status(`${statusesUrl}/${status.sha}`, status, creatorOf(status))
  }

  const formOf = (call: Call, found: VisibleRepository, last: 'status' | 'statuses', filter: Filter) => {
    const page = pageOf(call.query, pages)
    const ref = String(call.params['ref'])
    const { query, key, selects, compare } = filter
    return {
      key: `${name} ${last} ${call.base} ${found.name.full} ${ref} ${key}`,
      page,
      ...(selects && { selects }),
      ...(compare && { compare }),
      headers: ({ total }) => {
        const address = `${repositoryUrl(call, found)}/commits/${refPath(ref)}/${last}`
        const links = pageLinks(address, query, pages, page, total)
        return { ...maker.headersOf(total), ...(links !== undefined && { Link: links }) }
      },
    } satisfies Omit<ListForm, 'body'>
  }

  const report = async (call: Call): Promise<Answer> => {
    const { found, status } = await operations.report(call, nameOf(call), String(call.params['sha']), maker.shapeOf)
    const body = shownAs(call, found)(status)
    const headers = maker.locates && { Location: body.url }
    return { status: 201, body, ...(headers && { headers }), reporter: status.reporter }
  }

  const list = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), ({ found }) => ({
      ...formOf(call, found, 'statuses', maker.filterOf?.(call.query) ?? ALL),
      body: ({ statuses }) => statuses.map(shownAs(call, found)),
    }))

  const combined = (call: Call): MaybePromise<Answer> =>
    operations.list(call, nameOf(call), String(call.params['ref']), (at) =>
      chain(operations.defaultBranch(at.found), (branch): ListForm => {
        const { found, commit } = at
        const { key, ...form } = formOf(call, found, 'status', ALL)
        return {
          ...form,
          key: `${key} ${branch} ${found.access} ${found.repository.public}`,
          body: async ({ state, statuses, total }) => {
            const commitUrl = `${repositoryUrl(call, found)}/commits/${commit.hex}`
            return maker.combined({
              state: state ?? 'pending',
              statuses: statuses.map(shownAs(call, found)),
              sha: commit.hex,
              total_count: total,
              repository: await maker.repository(call, at, branch),
              commit_url: commitUrl,
              url: `${commitUrl}/status`,
            })
          },
        }
      }),
    )

  return [
    { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/statuses$`), operation: list },
    {
      name: 'report',
      method: 'POST',
      path: new RegExp(`${REPOSITORY}/statuses/(?<sha>[^/]+)$`),
      operation: report,
      ...(missingCommit && { missingCommit }),
    },
    { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/commits/(?<ref>.+)/status$`), operation: combined },
    { name: 'list', method: 'GET', path: new RegExp(`${REPOSITORY}/statuses/(?<ref>.+)$`), operation: list },
  ]
}
