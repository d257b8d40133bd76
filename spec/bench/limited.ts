import { rmSync } from 'node:fs'
import { inTurn, type Loaded } from './comparison.js'
import type { Place } from './data.js'
import { Load, type LoadRequest } from './load.js'
import { record, ServerProcess, type Recorded, type Work } from './processes.js'
import { copyStore, type Services } from './services.js'
import type { Row, Setting } from './setting.js'

/** What the service is to be measured by beside its limits. */
export interface Question extends Work {
  readonly name: string
  readonly requests: readonly LoadRequest[]
  readonly token?: string | undefined
  /** The least that composite takes of our processor time. */
  readonly least?: number
  /** The most microseconds that a request takes. */
  readonly most?: number
  /** Whether each list is asked for with the entity tag that it has. */
  readonly conditional?: boolean
  readonly warmSeconds?: number
}

/** Measures a service on a place beside a bare server that answers the same and one that does the same on files. */
export async function limited(setting: Setting, place: Place, services: Services, asked: Question): Promise<Row> {
  const { name, requests, token, least, most, conditional = false, scans, remembers, warmSeconds } = asked
  const { ours, against } = services
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
  copyStore(place.store, store)
  const bare = await ServerProcess.limit(canned, post)
  const { repositories } = place
  const composite = await ServerProcess.composite({ repositories, store, scans, remembers, get: canned, post })
  try {
    const load = new Load(`${store}.requests`, requests, { ...authorization, ...condition })
    // What the limits know beforehand they need not be asked for.
    const warmLimit = remembers === undefined ? 1 : warmSeconds
    const loaded: Loaded[] = [
      { server: ours, load, warmSeconds },
      { server: bare, load, warmSeconds: 1 },
      { server: composite, load, warmSeconds: warmLimit },
      ...(against ? [{ server: against, load, warmSeconds }] : []),
    ]
    const rounds = await inTurn(setting, loaded)
    const [ratio, processor] = [rounds.ratio(2, 0), rounds.of(0, 'processor')]
    return {
      name,
      processor: {
        ours: processor,
        bare: rounds.of(1, 'processor'),
        composite: rounds.of(2, 'processor'),
        against: against && rounds.of(3, 'processor'),
      },
      ours: rounds.of(0, 'perSecond'),
      limit: rounds.of(1, 'perSecond'),
      composite: rounds.of(2, 'perSecond'),
      ratio,
      p50: rounds.of(0, 'p50'),
      p99: rounds.of(0, 'p99'),
      p999: rounds.of(0, 'p999'),
      memory: ours.memory,
      goal: least !== undefined ? `≥ ${least} of composite` : most !== undefined ? `≤ ${most} µs` : '',
      reached: ratio >= (least ?? 0) && processor <= (most ?? Infinity),
    }
  } finally {
    await Promise.all([bare.end(), composite.end()])
    rmSync(store, { recursive: true, force: true })
  }
}
