import { ServiceError } from '../../errors.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleRoute } from './api.js'
import { refPath } from './formats.js'
import { branchObject, commitObject, referenceObject, tagObject } from './gitea-ref-objects.js'
import { nameOf, REPOSITORY, repositoryUrl } from './github-like.js'
import type { Operations } from './operations.js'
import type { PageRule } from './paging.js'
import { BRANCHES, fullRef, linksOf, listed, TAGS, type RefPage } from './ref-operations.js'

/** What Gitea says of what is not there. */
export const NOT_THERE = "The target couldn't be found."

/** Gitea has all on one page: as many as clients that ask for no other can be given. */
const ALL_REFS: PageRule = { parameter: 'limit', defaultSize: 1000, maxSize: 1000 }

/** Branches, tags, other refs and commits of Gitea's API. */
export function refRoutes(operations: Operations, pages: PageRule): CompatibleRoute[] {
  const { refs } = operations

  const headersOf = (call: Call, found: RefPage, below: string, rule = pages) => ({
    'X-Total-Count': found.total,
    ...linksOf(`${repositoryUrl(call, found.found)}/${below}`, found, rule),
  })

  const branches = async (call: Call): Promise<Answer> => {
    const found = await refs.page(call, nameOf(call), { prefix: BRANCHES, pages })
    const read = await refs.contents(found.found, found.refs)
    const items = read.map((ref) => branchObject(call, found.found, ref, found.ruleOf(ref.name)))
    return listed(items, headersOf(call, found, 'branches'))
  }

  const branch = async (call: Call): Promise<Answer> => {
    const at = await refs.branch(call, nameOf(call), String(call.params['branch']), NOT_THERE)
    const ref = { name: BRANCHES + at.name, id: at.commit.hex, content: at.content }
    return { status: 200, body: branchObject(call, at.found, ref, at.rule) }
  }

  const tags = async (call: Call): Promise<Answer> => {
    const found = await refs.page(call, nameOf(call), { prefix: TAGS, pages, descending: true })
    const items = await refs.tagsWithCommits(found.found, found.refs)
    return listed(
      items.map(({ content, ...tag }) => tagObject(call, found.found, tag, content)),
      headersOf(call, found, 'tags'),
    )
  }

  const matching = async (call: Call): Promise<Answer> => {
    const { ref = '' } = call.params
    const prefix = fullRef(ref)
    const found = await refs.page(call, nameOf(call), { prefix, pages: ALL_REFS })
    if (found.total === 0) throw new ServiceError('path_unknown', { text: NOT_THERE })
    const url = repositoryUrl(call, found.found)
    const items = (await refs.peeled(found.found, found.refs)).map((one) => referenceObject(url, one))
    const [only] = items
    // One that is named in full, where no other begins so.
    if (found.total === 1 && only?.ref === prefix) return { status: 200, body: only }
    return listed(items, headersOf(call, found, ref === '' ? 'git/refs' : `git/refs/${refPath(ref)}`, ALL_REFS))
  }

  const commit = async (call: Call): Promise<Answer> => {
    const at = await operations.commit(call, nameOf(call), String(call.params['ref']))
    const content = await operations.content(at)
    const lines = await operations.lines(at, content)
    return { status: 200, body: commitObject(call, at.found, at.commit.hex, content, lines) }
  }

  return [
    { method: 'GET', path: new RegExp(`${REPOSITORY}/branches$`), operation: branches },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/branches/(?<branch>.+)$`), operation: branch },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/tags$`), operation: tags },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/refs$`), operation: matching },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/refs/(?<ref>.*)$`), operation: matching },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/commits/(?<ref>.+)$`), operation: commit },
  ]
}
