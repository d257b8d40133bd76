/** What stands in an `Authorization` header; anything longer is some other file. */
const TOKEN = /^[\x21-\x7e]{1,1000}$/

/** The base of a service's addresses, with a slash at its end; `undefined` for what is none. */
export function serviceAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** Whether an address has what none of a service has; messages leave it out, as it may hold a password. */
export function hasMore(url: URL): boolean {
  return url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== ''
}

/** Where a service has a repository, below the base of its addresses. @param repository `team/sub/deep` */
export function repositoryPath(repository: string): string {
  const [owner = '', ...folders] = repository.split('/')
  return `api/v1/repos/${owner}/${folders.join('%2F')}`
}

export function isToken(text: string): boolean {
  return TOKEN.test(text)
}
