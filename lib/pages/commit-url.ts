import type { RepositoryName } from '../domain/repository-name.js'

/** Characters of it: the pages have other things to show. */
const MAX_LENGTH = 500

/** Whether a text may be the address of a commit in a repository browser, with one place for its id; empty: none. */
export function isCommitUrl(text: string): boolean {
  const filled = fillIn(text, 'owner/repo', '0')
  const isAddress = /^(?:https?:\/\/[^/\s]|\/(?!\/))[^\s{}]*$/.test(filled) && URL.canParse(filled, 'http://localhost')
  return text === '' || (text.length <= MAX_LENGTH && text.includes('{id}') && isAddress)
}

/** The address of a commit. Neither part has a sign that means something in an address. */
export function commitAddress(commitUrl: string, { full }: RepositoryName, sha: string): string {
  return fillIn(commitUrl, full, sha)
}

function fillIn(commitUrl: string, repository: string, sha: string): string {
  return commitUrl.replace('{repo}', repository).replace('{id}', sha)
}
