import type { OutgoingHttpHeaders } from 'node:http'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Ref } from '../../git/ref-list.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleRoute } from './api.js'
import { branchObject, tagObject } from './gitlab-ref-objects.js'
import type { Operations } from './operations.js'
import { lastPage, pageLinks, type Page } from './paging.js'
import { BRANCHES, listed, shortRef, TAGS, type RefPage } from './ref-operations.js'

export const PAGES = { parameter: 'per_page', defaultSize: 20, maxSize: 100 }

export const PROJECT = '^/projects/(?<id>[^/]+)'

/** Branches and tags of GitLab's API. */
export function refRoutes(
  operations: Operations,
  nameOf: (call: Call) => MaybePromise<RepositoryName | undefined>,
): CompatibleRoute[] {
  const { refs } = operations

  const branches = async (call: Call): Promise<Answer> => {
    const search = call.query.get('search') ?? ''
    const found = await refs.page(call, await nameOf(call), { prefix: BRANCHES, pages: PAGES, ...searching(search) })
    const defaultBranch = await operations.defaultBranch(found.found)
    const shown = await refs.contents(found.found, found.refs)
    const isMerged = await refs.mergedOf(found.found, shown)
    const items = shown.map((ref) => {
      const isProtected = found.ruleOf(ref.name) !== undefined
      return branchObject(call, found.found, ref, { isMerged: isMerged(ref), isProtected, defaultBranch })
    })
    return listed(items, headersOf(call, found, 'branches', { ...(search !== '' && { search }) }))
  }

  const branch = async (call: Call): Promise<Answer> => {
    const at = await refs.branch(call, await nameOf(call), String(call.params['branch']), 'Branch Not Found')
    const ref = { name: BRANCHES + at.name, id: at.commit.hex, content: at.content }
    const defaultBranch = await operations.defaultBranch(at.found)
    const isMerged = (await refs.mergedOf(at.found, [ref]))(ref)
    const facts = { isMerged, isProtected: at.rule !== undefined, defaultBranch }
    return { status: 200, body: branchObject(call, at.found, ref, facts) }
  }

  const tags = async (call: Call): Promise<Answer> => {
    const [search, sort] = [call.query.get('search') ?? '', call.query.get('sort') === 'asc' ? 'asc' : '']
    const asked = { prefix: TAGS, pages: PAGES, descending: sort === '', ...searching(search) }
    const found = await refs.page(call, await nameOf(call), asked)
    const items = (await refs.tagsWithCommits(found.found, found.refs)).map((tag) =>
      tagObject(call, found.found, tag, found.ruleOf(tag.name) !== undefined),
    )
    const filter = { ...(search !== '' && { search }), ...(sort !== '' && { sort }) }
    return listed(items, headersOf(call, found, 'tags', filter))
  }

  return [
    { method: 'GET', path: new RegExp(`${PROJECT}/repository/branches$`), operation: branches },
    { method: 'GET', path: new RegExp(`${PROJECT}/repository/branches/(?<branch>.+)$`), operation: branch },
    { method: 'GET', path: new RegExp(`${PROJECT}/repository/tags$`), operation: tags },
  ]
}

/** What every list of GitLab says of its pages. */
export function pageHeaders(
  address: string,
  query: Readonly<Record<string, string>>,
  page: Page,
  total: number,
): OutgoingHttpHeaders {
  const last = lastPage(page, total)
  const links = pageLinks(address, query, PAGES, page, total)
  return {
    'X-Total': total,
    'X-Total-Pages': last,
    'X-Page': page.number,
    'X-Per-Page': page.size,
    'X-Next-Page': page.number < last ? page.number + 1 : '',
    'X-Prev-Page': page.number > 1 ? Math.min(page.number - 1, last) : '',
    ...(links !== undefined && { Link: links }),
  }
}

function headersOf({ base }: Call, { found, page, total }: RefPage, last: string, query: Record<string, string>) {
  return pageHeaders(`${base}/projects/${encodeURIComponent(found.name.full)}/repository/${last}`, query, page, total)
}

/** A text that is in the name, in any letter case; with `^` in front it begins with it, with `$` behind it ends so. */
function searching(search: string): { readonly selects?: (ref: Ref) => boolean } {
  if (search === '') return {}
  const wanted = search.toLowerCase()
  const has = (name: string): boolean => {
    if (wanted.startsWith('^')) return name.startsWith(wanted.slice(1))
    if (wanted.endsWith('$')) return name.endsWith(wanted.slice(0, -1))
    return name.includes(wanted)
  }
  return { selects: (ref) => has(shortRef(ref).toLowerCase()) }
}
