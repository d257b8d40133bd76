import { cpSync, rmSync } from 'node:fs'
import { defaultOf } from '../../config/settings.js'
import { sound, type Measured } from './comparison.js'
import { hostingOf, type Hosting } from './hosting.js'
import { limited, type Question } from './limited.js'
import { Load, type LoadRequest } from './load.js'
import { list, report, tokenOf } from './place.js'
import { command, ServerProcess } from './processes.js'
import { Services } from './services.js'
import { median, type Case, type Row, type Setting } from './setting.js'

const USER = 'alice'

/** Requests of a day: nine lists for each report. */
const LISTS_FOR_A_REPORT = 9
const REQUESTS = 50_000

/** A case of many repositories, on a copy of their store: reports leave no trace for the next. */
function hosting(name: string, repositories: number, reported: number, rowsOf: RowsOf): Case {
  return {
    name,
    async run(setting) {
      const made = await hostingOf(setting, repositories, reported)
      const place = { ...made, store: `${made.store}.copy` }
      rmSync(place.store, { recursive: true, force: true })
      cpSync(made.store, place.store, { recursive: true })
      const token = await tokenOf(place, USER)
      for (const owner of new Set(made.names.slice(0, 1000).map((full) => full.replace(/\/.*/, ''))))
        await command(place, 'access', 'grant', owner, USER, 'write')
      try {
        return await rowsOf(setting, place, token)
      } finally {
        rmSync(place.store, { recursive: true, force: true })
      }
    },
  }
}

type RowsOf = (setting: Setting, place: Hosting, token: string) => Promise<Row[]>

/** Questions to one service, one after the other. */
function asking(questionsOf: (place: Hosting, token: string) => readonly Question[]): RowsOf {
  return async (setting, place, token) => {
    const services = await Services.start(setting, place)
    const rows: Row[] = []
    try {
      for (const question of questionsOf(place, token)) rows.push(await limited(setting, place, services, question))
    } finally {
      await services.end()
    }
    return rows
  }
}

const lists = ({ names, commits }: Hosting): LoadRequest[] => names.map((name) => list(commits[0] ?? '', name))

const MEGABYTES = defaultOf('cache.megabytes')

const reports = ({ names, commits }: Hosting): LoadRequest[] =>
  names.slice(0, 1000).map((name, index) => report(commits[0] ?? '', index, name))

/** Repositories and commits as they are used: the second half as often as the first, the third a third as often. */
function day({ names, commits }: Hosting): LoadRequest[] {
  const [name, sha] = [zipf(names), zipf(commits)]
  return Array.from({ length: REQUESTS }, (_, index) =>
    index % (LISTS_FOR_A_REPORT + 1) === 0 ? report(sha(), index, name()) : list(sha(), name()),
  )
}

/** Picks by Zipf's law: the nth 1/n as often as the first. */
function zipf<T>(values: readonly T[]): () => T {
  let sum = 0
  const sums = values.map((_, index) => (sum += 1 / (index + 1)))
  return () => {
    const wanted = Math.random() * sum
    let [low, high] = [0, values.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    const value = values[low]
    if (value === undefined) throw new RangeError('there is nothing to pick from')
    return value
  }
}

/** The most milliseconds that all but a hundredth of answers take, by the number of connections. */
const LATENCIES: ReadonlyMap<number, number> = new Map([
  [1, Infinity],
  [64, 40],
  [1000, 300],
])

/** How long answers take, and the event loop stands still, by the number of connections. */
const byConnections: RowsOf = async (setting, place, token) => {
  const server = await ServerProcess.service(place, { COMMIT_STATUS_METRICS: 'main' })
  const load = new Load(`${place.store}.requests`, day(place), { Authorization: `Bearer ${token}` })
  const rows: Row[] = []
  try {
    await load.run(server.url, { seconds: 5 })
    for (const [connections, most] of LATENCIES) {
      const [results, stalls]: [Measured[], number[]] = [[], []]
      for (let round = 0; round < setting.rounds; round++) {
        await server.stall()
        results.push(await sound(load, server, setting, connections))
        stalls.push(await server.stall())
      }
      const of = (member: keyof Measured): number => median(results.map(({ [member]: value }) => value))
      rows.push({
        name: `a mixed day over 1,000 repositories, measured, ${connections} connections`,
        processor: { ours: of('processor') },
        ours: of('perSecond'),
        p50: of('p50'),
        p99: of('p99'),
        p999: of('p999'),
        stall: Math.max(...stalls),
        goal: most === Infinity ? '' : `p99 ≤ ${most} ms`,
        reached: of('p99') <= most,
      })
    }
  } finally {
    await server.end()
  }
  return rows
}

export const hostingCases: readonly Case[] = [
  hosting(
    '1,000 repositories',
    1000,
    20,
    asking((place, token) => [
      { name: 'list over 1,000 repositories, public, 10 contexts', requests: lists(place), least: 0.88 },
      { name: 'the same with a token', requests: lists(place), token, least: 0.8 },
      {
        name: 'report over 1,000 repositories',
        requests: reports(place),
        token,
        least: 0.65,
        warmSeconds: 5,
      },
      {
        name: 'a mixed day over 1,000 repositories: 90 % lists, 10 % reports, Zipf',
        requests: day(place),
        token,
        least: 0.7,
        remembers: MEGABYTES,
        warmSeconds: 20,
      },
    ]),
  ),
  hosting('connections', 1000, 20, byConnections),
  hosting(
    '100,000 repositories',
    100_000,
    1,
    asking((place, token) => [
      {
        name: 'list over 100,000 repositories, public, the first one',
        requests: lists(place),
        most: 300,
        remembers: MEGABYTES,
      },
      { name: 'the same with a token', requests: lists(place), token, remembers: MEGABYTES },
    ]),
  ),
]
