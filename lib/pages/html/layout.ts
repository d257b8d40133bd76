import type { OutgoingHttpHeaders } from 'node:http'
import { digestOf } from '../../http/digest.js'
import type { KnownRight } from '../../contracts/access-policy.js'
import type { Answer } from '../../http/exchange.js'
import { STYLE_DIGEST } from '../assets/assets.js'
import { visible } from './foreign-text.js'
import { html, type Content, type Html } from './html.js'

/** Who looks at a page. */
export interface Visitor {
  /** Absent for whoever is not signed in. */
  readonly user?: string
  /** On the repository that the page is about, where it was found with the user. */
  readonly rights?: readonly KnownRight[]
  /** Whether a session of ours says so, which the visitor can end. */
  readonly hasSession: boolean
}

/** Where pages are, and who looks at one. */
export interface PageFrame {
  /** What the addresses of pages begin with; empty, or with a slash in front and none at the end. */
  readonly base: string
  /** What they are called. */
  readonly site: string
  readonly visitor: Visitor
  /** Where to sign in; absent: nobody knows where one is. */
  readonly signInUrl: string
}

export interface Page {
  readonly title: string
  /** For lists: renders with as many rows as fit into `rowBytes`; 0 renders none. */
  readonly content: Content | ((rowBytes: number) => Content)
  /** Where a page is in a repository: names and addresses, from the top; the last is the page itself. */
  readonly trail?: readonly (readonly [name: string, address: string])[]
}

/** Whatever is shown, so that a page loads at once on a poor line. */
const MAX_PAGE_BYTES = 20_000

/** By how much a page may be longer than it is without rows: numbers in links have more digits. */
const SPARE_BYTES = 100

/** Nothing but what is from here; no script at all. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS: OutgoingHttpHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
}

/** A page that may be kept by who has seen it, and asked for again with its entity tag. */
export function pageAnswer(frame: PageFrame, page: Page, headers: OutgoingHttpHeaders = {}): Answer {
  return htmlAnswer(documentOf(frame, page), headers)
}

/** A part of a page for others to take in: it has no head, and no stylesheet of ours. */
export function htmlAnswer(content: Html, headers: OutgoingHttpHeaders = {}): Answer {
  const body = Buffer.from(content.toString())
  const digest = digestOf(body)
  return { status: 200, body, digest, headers: { ...HEADERS, ...headers } }
}

/** A page that nobody keeps: of an error, or with what is shown only once. */
export function fleetingAnswer(
  status: number,
  frame: PageFrame,
  page: Page,
  headers: OutgoingHttpHeaders = {},
): Answer {
  const body = Buffer.from(documentOf(frame, page).toString())
  return { status, body, headers: { ...HEADERS, 'Cache-Control': 'no-store', ...headers } }
}

/**
 * A form sends its origin to its own server alone. With `no-referrer` it would not even do that: browsers then send
 * `Origin: null`.
 */
export const FORM_HEADERS: OutgoingHttpHeaders = { 'Referrer-Policy': 'same-origin' }

/** Sends a browser to another page. */
export function redirect(address: string, headers: OutgoingHttpHeaders = {}): Answer {
  return {
    status: 303,
    body: Buffer.alloc(0),
    headers: { ...HEADERS, 'Cache-Control': 'no-store', Location: address, ...headers },
  }
}

function documentOf(frame: PageFrame, page: Page): Html {
  const { content } = page
  if (typeof content !== 'function') return documentWith(frame, page, content)
  const around = Buffer.byteLength(documentWith(frame, page, content(0)).toString())
  return documentWith(frame, page, content(Math.max(1, MAX_PAGE_BYTES - SPARE_BYTES - around)))
}

function documentWith(
  { base, site, visitor, signInUrl }: PageFrame,
  { title, trail = [] }: Page,
  content: Content,
): Html {
  const path = trail.map(([name, address], index) => {
    const part =
      index < trail.length - 1 ? html`<a href="${address}">${name}</a>` : html`<b aria-current="page">${name}</b>`
    return html` <span aria-hidden="true">/</span> ${part}`
  })
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${visible(title)} · ${visible(site)}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="${base}/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="${base}/style.css?${STYLE_DIGEST}" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <nav aria-label="Where you are"><a class="site" href="${base}/">${visible(site)}</a>${path}</nav>
          <nav aria-label="You" class="you">${visitorPart(base, visitor, signInUrl)}</nav>
        </header>
        <main id="content">${content}</main>
      </body>
    </html> `
}

function visitorPart(base: string, { user, hasSession }: Visitor, signInUrl: string): Content {
  if (user === undefined) return html`<a href="${signInUrl}">Sign in</a>`
  return html`<span>${user}</span> <a href="${base}/settings/tokens">Tokens</a>${
      hasSession && html` <form method="post" action="${base}/sign-out"><button class="plain">Sign out</button></form>`
    }`
}
