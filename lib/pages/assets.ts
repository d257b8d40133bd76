import type { OutgoingHttpHeaders } from 'node:http'
import { hash } from 'node:crypto'
import type { Route } from '../http/room.js'
import { marksScript } from './marks.js'
import type { PagesParts } from './parts.js'
import { ICON, STYLE } from './style.js'

/** The files that pages, ours and others, load. */
export function assets({ base }: PagesParts): readonly Route[] {
  // The address of the stylesheet changes with it.
  const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' }
  return [
    asset(/^\/style\.css$/, STYLE, { 'Content-Type': 'text/css; charset=utf-8', ...forEver }),
    asset(/^\/icon\.svg$/, ICON, {
      'Content-Type': 'image/svg+xml',
      'Cache-Control': 'public, max-age=86400',
      'Content-Security-Policy': "default-src 'none'",
    }),
    asset(/^\/marks\.js$/, marksScript(base), {
      'Content-Type': 'text/javascript; charset=utf-8',
      'Cache-Control': 'public, max-age=300',
    }),
  ]
}

function asset(path: RegExp, text: string, headers: OutgoingHttpHeaders): Route {
  const body = Buffer.from(text)
  const digest = hash('sha256', body, 'base64url').slice(0, 22)
  return { name: 'page', method: 'GET', path, operation: () => ({ status: 200, body, digest, headers }) }
}
