import type { IncomingMessage } from 'node:http'
import { headerValues } from './header-values.js'
import type { CalledAddress } from './public-address.js'

/**
 * Whether a form was sent by a page of ours: as the browser says (`Sec-Fetch-Site`), else by `Origin`; what says
 * neither was not sent by a browser that can be believed.
 */
export function isSameOrigin(request: IncomingMessage, own: CalledAddress): boolean {
  const sites = headerValues(request, 'sec-fetch-site')
  if (sites.length > 0) return sites.length === 1 && sites[0] === 'same-origin'
  const [origin = '', ...more] = headerValues(request, 'origin')
  if (more.length > 0 || !URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  // Behind a proxy that does not say so, the protocol is not known: http is what we see of https.
  return host === hostOf(own, protocol) && (own.protocol === 'http' || protocol === 'https:')
}

/** Without the port that everybody leaves out. */
function hostOf({ host }: CalledAddress, protocol: string): string {
  const url = `${protocol}//${host}`
  return URL.canParse(url) ? new URL(url).host : ''
}
