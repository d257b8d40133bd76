import { readFile } from 'node:fs/promises'
import type { StandAlonePages } from '../embedding/open-pages.js'
import { errorMessage, StartError } from '../errors.js'
import { isOfApi } from '../http/api-paths.js'
import { coversEverybody, UNIX } from '../http/client-address.js'
import { mountPath } from '../http/public-address.js'
import type { Settings } from './settings.js'
import { isForEverybody, socketPathOf } from './unix-socket.js'

/** Headers that say something else already. */
const TAKEN = ['authorization', 'cookie', 'host', 'x-proxy-secret', 'x-forwarded-for', 'origin', 'sec-fetch-site']

/** The fewest characters of a secret that nobody guesses. */
const MIN_SECRET = 16

/**
 * How people sign in to the pages, by the settings.
 * @returns `undefined` when there are no pages
 * @throws StartError for settings that would let anyone impersonate anyone
 */
export async function ownPages({
  pages,
  title,
  commitUrl,
  signIn,
  trustedProxies,
  publicUrl,
  host,
  socket,
}: Settings): Promise<StandAlonePages | undefined> {
  if (pages === 'off') return undefined
  const { header, secretFile } = signIn
  const base = mountPath(publicUrl)
  if (isOfApi(base)) throw new StartError(`publicUrl cannot have the path ${base}, which the APIs are under`)
  const ours = { base, title, commitUrl, ...(signIn.url !== '' && { url: signIn.url }) }
  if (header === '') {
    if (secretFile === '') return { ...ours, linkCommand: signIn.command }
    throw new StartError('signIn.secretFile is of use with signIn.header alone, which is not set')
  }
  const isOpen = socketPathOf(host) !== undefined && isForEverybody(socket)
  const why = refusal(header, trustedProxies, isOpen)
  if (why !== undefined) throw new StartError(why)
  return { ...ours, header, ...(secretFile !== '' && { secret: await secretIn(secretFile) }) }
}

/** What links to sign in begin with, for a command; `undefined` where people sign in otherwise, or not at all. */
export function signInAddress(settings: Settings): string | undefined {
  return settings.pages === 'on' && settings.signIn.header === '' ? serviceAddress(settings) : undefined
}

/** What links begin with, for a command. */
export function serviceAddress({ publicUrl, host, port }: Settings): string {
  return linkAddress(publicUrl, socketPathOf(host) === undefined ? httpUrl(host, port) : host)
}

/** What links begin with: at `publicUrl`, else at the URL where the service listens; a Unix socket is at localhost. */
export function linkAddress(publicUrl: string, url: string): string {
  return publicUrl.replace(/\/+$/, '') || url.replace(/^unix:.*/, 'http://localhost')
}

export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** @param isOpen whether everybody can connect to the Unix socket, if there is one */
function refusal(header: string, trustedProxies: readonly string[], isOpen: boolean): string | undefined {
  if (TAKEN.includes(header.toLowerCase())) return `signIn.header cannot be ${header}, which says something else`
  if (trustedProxies.length === 0)
    return `signIn.header needs trustedProxies: without them nobody is believed who names a user in ${header}`
  if (coversEverybody(trustedProxies))
    return `trustedProxies cover everybody: with signIn.header anybody could be whom he likes by sending ${header}`
  if (isOpen && trustedProxies.includes(UNIX))
    return `socket.mode lets everybody connect: with signIn.header anybody could be whom he likes by sending ${header}`
  return undefined
}

async function secretIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartError(`signIn.secretFile cannot be read: ${errorMessage(cause)}`, { cause })
  })
  const secret = text.trim()
  if (secret.length < MIN_SECRET || !/^[\x21-\x7e]+$/.test(secret))
    throw new StartError(`signIn.secretFile ${file} must hold ${MIN_SECRET} characters or more, without spaces`)
  return secret
}
