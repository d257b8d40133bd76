import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { digestOf } from '../../http/digest.js'
import type { Route } from '../../http/surface.js'

const style = textOf('style.css')
const icon = textOf('icon.svg')
const marks = textOf('marks.js')

/** Changes with the stylesheet, so that browsers may keep it for ever. */
export const STYLE_DIGEST = hash('sha256', style, 'base64url').slice(0, 10)

/**
 * Repositories are for everybody to find; their commits, refs and images are without end, and each takes a look at git.
 */
const NOT_FOR_ROBOTS = ['/?', '/repos/*?', '/repos/*/commits/', '/repos/*/badge.svg', '/settings', '/sign-in', '/api/']

/** What crawlers leave out, where the whole server is ours. @param place as for `assets` */
export function robots({ base }: { readonly base: string }): Route {
  const lines = ['User-agent: *', ...NOT_FOR_ROBOTS.map((path) => `Disallow: ${base}${path}`), '']
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'public, max-age=86400' }
  return asset(/^\/robots\.txt$/, lines.join('\n'), headers)
}

/**
 * The files that pages, ours and others, load.
 * @param place with what the addresses of pages begin with, and who owns repositories in no folder
 */
export function assets({ base, topOwner }: { readonly base: string; readonly topOwner: string }): readonly Route[] {
  // The address of the stylesheet changes with it.
  const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' }
  return [
    asset(/^\/style\.css$/, style, { 'Content-Type': 'text/css; charset=utf-8', ...forEver }),
    asset(/^\/icon\.svg$/, icon, {
      'Content-Type': 'image/svg+xml',
      'Cache-Control': 'public, max-age=86400',
      'Content-Security-Policy': "default-src 'none'",
    }),
    asset(
      /^\/marks\.js$/,
      marks.replace("'BASE'", () => JSON.stringify(base)).replace("'TOP_OWNER'", () => JSON.stringify(topOwner)),
      { 'Content-Type': 'text/javascript; charset=utf-8', 'Cache-Control': 'public, max-age=300' },
    ),
  ]
}

function asset(path: RegExp, text: string, headers: OutgoingHttpHeaders): Route {
  const body = Buffer.from(text)
  const digest = digestOf(body)
  return { name: 'page', method: 'GET', path, operation: () => ({ status: 200, body, digest, headers }) }
}

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}
