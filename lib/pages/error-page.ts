import type { ServiceError } from '../errors.js'
import { html, type Html } from './html/html.js'
import { fleetingAnswer, type PageFrame } from './html/layout.js'
import type { Answer } from '../http/exchange.js'

/** A refusal or failure as a page, in the words of the API. */
export function errorPage(frame: PageFrame, error: ServiceError): Answer {
  const { status } = error
  const text = error.message.charAt(0).toUpperCase() + error.message.slice(1)
  // Its words are about a parameter of the API.
  const [title, more] = error.code === 'sha_invalid' ? ['This is no commit id', `${text}.`] : [text]
  const page = {
    title,
    content: html`<h1>${title}</h1>
      ${more !== undefined && html`<p>${more}</p>`}
      ${status === 404 && frame.visitor.user === undefined && signInHint(frame)}
      <p><a href="${frame.base}/">All repositories</a></p>`,
  }
  return fleetingAnswer(status, frame, page, {
    ...(error.retryAfter !== undefined && { 'Retry-After': error.retryAfter }),
  })
}

/** For what is private and for what is missing alike. */
function signInHint({ base, signInUrl }: PageFrame): Html {
  return html`<p>
    It may be there for those who may read it: <a href="${signInUrl ?? `${base}/sign-in`}">sign in</a>.
  </p>`
}
