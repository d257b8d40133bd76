import type { ServiceError } from '../errors.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { html, type Html } from './html/html.js'
import { fleetingAnswer, type PageFrame } from './html/layout.js'
import type { Answer } from '../http/exchange.js'
import { repositoryPath } from '../http/page-paths.js'

/**
 * A refusal or failure as a page, in the words of the API.
 * @param repository that something is not in; whether it is there itself does not matter
 */
export function errorPage(frame: PageFrame, error: ServiceError, repository?: RepositoryName): Answer {
  const { status } = error
  const title = error.message.charAt(0).toUpperCase() + error.message.slice(1)
  const page = {
    title,
    content: html`<h1>${title}</h1>
      ${status === 404 && frame.visitor.user === undefined && signInHint(frame)}
      ${repository && repositoryLink(frame, repository)}
      <p><a href="${frame.base}/">All repositories</a></p>`,
  }
  return fleetingAnswer(status, frame, page, {
    ...(error.retryAfter !== undefined && { 'Retry-After': error.retryAfter }),
  })
}

export function repositoryLink({ base }: PageFrame, name: RepositoryName): Html {
  return html`<p><a href="${base + repositoryPath(name)}">The commits of ${name.full}</a></p>`
}

/** For what is private and for what is missing alike. */
function signInHint({ signInUrl }: PageFrame): Html {
  return html`<p>It may be there for those who may read it: <a href="${signInUrl}">sign in</a>.</p>`
}
