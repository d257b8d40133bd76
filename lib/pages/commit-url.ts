import type { VisibleRepository } from '../service/repository-access.js'

/** Characters of it: the pages have other things to show. */
const MAX_LENGTH = 500

/** Whether a text may be the address of a commit in a repository browser, with one place for its id; empty: none. */
export function isCommitUrl(text: string): boolean {
  const filled = fillIn(text, 'owner/repo', '0')
  const isAddress = /^(?:https?:\/\/[^/\s]|\/(?!\/))[^\s{}]*$/.test(filled) && URL.canParse(filled, 'http://localhost')
  return text === '' || (text.length <= MAX_LENGTH && text.includes('{id}') && isAddress)
}

/** The address of a commit in a repository browser, which knows the repository as the git server does. */
export function commitAddress(commitUrl: string, { name, repository }: VisibleRepository, sha: string): string {
  const { path = name.full } = repository
  // In a query a plus is a blank.
  return fillIn(
    commitUrl,
    path
      .replace(/\.git$/, '')
      .split('/')
      .map(encodeURIComponent)
      .join('/'),
    sha,
  )
}

function fillIn(commitUrl: string, repository: string, sha: string): string {
  return commitUrl.replace('{repo}', () => repository).replace('{id}', sha)
}
