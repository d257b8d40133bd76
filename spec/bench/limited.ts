import { cpSync, rmSync } from 'node:fs'
import { compare } from './comparison.js'
import type { Place } from './data.js'
import { Load, type LoadRequest } from './load.js'
import { record, ServerProcess, type Recorded } from './processes.js'
import type { Row, Setting } from './setting.js'

/** What the service is to be measured by beside its limits. */
export interface Question {
  readonly name: string
  readonly requests: readonly LoadRequest[]
  readonly token?: string | undefined
  /** The least share of a limit's processor time. */
  readonly least: number
  /** The limit that `least` is about: the bare server, unless given. */
  readonly to?: 'bare' | 'composite'
  /** Whether each list is asked for with the entity tag that it has. */
  readonly conditional?: boolean
  /** Whether lists do not fit into the memory. */
  readonly scans?: boolean
  readonly connections?: number
  readonly warmSeconds?: number
}

/** Measures a service on a place beside a bare server that answers the same and one that does the same on files. */
export async function limited(setting: Setting, place: Place, ours: ServerProcess, asked: Question): Promise<Row> {
  const { name, requests, token, least, to = 'bare', conditional = false, scans = false, warmSeconds = 2 } = asked
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  const answerTo = async (method: string): Promise<Recorded | undefined> => {
    const sample = requests.find((one) => one.method === method)
    if (!sample) return undefined
    const body = sample.body === undefined ? {} : { body: sample.body }
    return await record(`${ours.url}${sample.path}`, { method, headers: authorization, ...body })
  }
  const [get, post] = [await answerTo('GET'), await answerTo('POST')]
  const condition = conditional ? { 'If-None-Match': get?.headers['etag'] ?? '"none"' } : {}
  const canned =
    conditional && get ? { status: 304, headers: { ...get.headers, 'content-length': '0' }, body: '' } : get
  const store = `${place.store}.composite`
  rmSync(store, { recursive: true, force: true })
  cpSync(place.store, store, { recursive: true, filter: (source) => !/(?:\/LOCK|\/admin)$/.test(source) })
  const bare = await ServerProcess.limit(canned, post)
  const composite = await ServerProcess.composite({ repositories: place.repositories, store, scans, get: canned, post })
  try {
    const load = new Load(`${store}.requests`, requests, { ...authorization, ...condition })
    const servers = {
      ours: { server: ours, load },
      bare: { server: bare, load },
      composite: { server: composite, load },
    }
    const connections = asked.connections ?? 64
    const row = await compare(setting, servers, { warmSeconds, connections, to })
    const goal = least > 0 ? `≥ ${least}${to === 'composite' ? ' of composite' : ''}` : ''
    return { name, ...row, goal, reached: row.ratio >= least }
  } finally {
    await Promise.all([bare.end(), composite.end()])
    rmSync(store, { recursive: true, force: true })
  }
}
