import { ServiceError } from '../../errors.js'
import type { Answer } from '../exchange.js'
import type { Call, CompatibleRoute } from './api.js'
import { refPath } from './formats.js'
import { nameOf, REPOSITORY, repositoryUrl } from './github-like.js'
import { commitPlace, githubMaker } from './github-objects.js'
import { branchItem, branchObject, refObject, tagObject } from './github-ref-objects.js'
import type { PageRule } from './paging.js'
import { BRANCHES, fullRef, linksOf, listed, TAGS, type RefOperations, type RefsAsked } from './ref-operations.js'

/** GitHub has all on one page: as many as clients that ask for no other can be given. */
const MATCHING: PageRule = { parameter: 'per_page', defaultSize: 1000, maxSize: 1000 }

/** Branches, tags and other refs of GitHub's REST API. */
export function refRoutes(operations: RefOperations): CompatibleRoute[] {
  const { pages } = githubMaker

  const branches = async (call: Call): Promise<Answer> => {
    const only = call.query.get('protected') ?? ''
    const isWanted = only === 'true' || only === 'false'
    const found = await operations.page(call, nameOf(call), {
      prefix: BRANCHES,
      pages,
      ...(isWanted && { selects: ({ name }, ruleOf) => (ruleOf(name) !== undefined) === (only === 'true') }),
    })
    const url = repositoryUrl(call, found.found)
    const items = found.refs.map((ref) => branchItem(url, ref, found.ruleOf(ref.name)))
    return listed(items, linksOf(`${url}/branches`, found, pages, isWanted ? { protected: only } : {}))
  }

  const branch = async (call: Call): Promise<Answer> => {
    const branch = await operations.branch(call, nameOf(call), String(call.params['branch']), 'Branch not found')
    return { status: 200, body: branchObject(commitPlace(call, branch.found), branch) }
  }

  const tags = async (call: Call): Promise<Answer> => {
    const asked: RefsAsked = { prefix: TAGS, pages, descending: true }
    const found = await operations.page(call, nameOf(call), asked)
    const url = repositoryUrl(call, found.found)
    const items = (await operations.peeled(found.found, found.refs)).map((tag) => tagObject(url, tag))
    return listed(items, linksOf(`${url}/tags`, found, pages))
  }

  const ref = async (call: Call): Promise<Answer> => {
    const { found, ref } = await operations.ref(call, nameOf(call), fullRef(String(call.params['ref'])))
    return { status: 200, body: refObject(repositoryUrl(call, found), ref) }
  }

  const matching = async (call: Call): Promise<Answer> => {
    const ref = String(call.params['ref'])
    const found = await operations.page(call, nameOf(call), { prefix: fullRef(ref), pages: MATCHING })
    const url = repositoryUrl(call, found.found)
    const items = (await operations.peeled(found.found, found.refs)).map((ref) => refObject(url, ref))
    return listed(items, linksOf(`${url}/git/matching-refs/${refPath(ref)}`, found, MATCHING))
  }

  /** The ref of a name, or those whose names begin with it: what both were before they had addresses of their own. */
  const refOrMatching = async (call: Call): Promise<Answer> => {
    const name = fullRef(String(call.params['ref']))
    const found = await operations.page(call, nameOf(call), { prefix: name, pages: MATCHING })
    if (found.total === 0) throw new ServiceError('path_unknown')
    return found.refs[0]?.name === name ? await ref(call) : await matching(call)
  }

  return [
    { method: 'GET', path: new RegExp(`${REPOSITORY}/branches$`), operation: branches },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/branches/(?<branch>.+)$`), operation: branch },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/tags$`), operation: tags },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/ref/(?<ref>.+)$`), operation: ref },
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/matching-refs/(?<ref>.*)$`), operation: matching },
    // It is the address that a ref has in its own answer.
    { method: 'GET', path: new RegExp(`${REPOSITORY}/git/refs(?:/|$)(?<ref>.*)$`), operation: refOrMatching },
  ]
}
