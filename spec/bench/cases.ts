import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { parseObjectId } from '../../lib/object-id.js'
import { bytesOf, fillStore, makeRepositoryOf, realisticReport, type MadeRepository, type Place } from './data.js'
import { Load, type LoadRequest, type LoadResult } from './load.js'
import { command, exportTo, record, ServerProcess, whileCommand, type Recorded } from './processes.js'

export interface Setting {
  /** Where data is made and kept. */
  readonly folder: string
  readonly rounds: number
  readonly seconds: number
  /** Of the large store. */
  readonly statuses: number
  readonly tell: (text: string) => void
}

/** One line of the table. */
export interface Row {
  readonly name: string
  readonly ours: number
  readonly limit?: number | undefined
  readonly ratio?: number | undefined
  /** Milliseconds. */
  readonly p50?: number | undefined
  readonly p99?: number | undefined
  /** Bytes. */
  readonly memory?: number | undefined
  readonly goal: string
  readonly reached: boolean
}

export interface Case {
  readonly name: string
  run(setting: Setting): Promise<Row[]>
}

const SPREAD = 100_000
const SMALL = 1_000

/** The service on a place, with a token of the owner. */
interface Running extends Place {
  readonly repository: MadeRepository
  readonly server: ServerProcess
  readonly token: string
}

/** A place with a repository of so many commits, ten statuses each. */
async function placeOf({ folder, tell }: Setting, commits: number, { isPublic = true } = {}): Promise<Place & { repository: MadeRepository }> {
  const place = { repositories: join(folder, `repositories-${commits}`), store: join(folder, `store-${commits}`) }
  tell(`making ${commits} commits`)
  const repository = await makeRepositoryOf(place.repositories, 'alice/hello', commits)
  await fillStore(place.store, repository, (done) => {
    if (done % 100_000 === 0) tell(`making ${commits * 10} statuses: ${done}`)
  })
  const mark = join(place.repositories, 'alice/hello.git/git-daemon-export-ok')
  rmSync(mark, { force: true })
  if (isPublic) await command(place, 'repo', 'public', 'alice/hello')
  return { ...place, repository }
}

async function running(setting: Setting, commits: number, options?: { isPublic: boolean }): Promise<Running> {
  const place = await placeOf(setting, commits, options)
  const token = (await command(place, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
  return { ...place, token, server: await ServerProcess.service(place) }
}

const listPath = (sha: string): string => `/api/v1/repos/alice/hello/commits/${sha}/statuses`
const reportPath = (sha: string): string => `/api/v1/repos/alice/hello/statuses/${sha}`
const list = (sha: string): LoadRequest => ({ method: 'GET', path: listPath(sha) })

function report(sha: string, index: number): LoadRequest {
  const { context, ...rest } = realisticReport(index)
  return { method: 'POST', path: reportPath(sha), body: JSON.stringify({ context, ...rest }) }
}

/** Runs a load against both in turn, once both have been warmed up; medians. */
async function compare(setting: Setting, load: Load, warmSeconds: number, ours: ServerProcess, limit: ServerProcess): Promise<Omit<Row, 'name' | 'goal' | 'reached'>> {
  const results: [LoadResult, LoadResult][] = []
  await load.run(ours.url, { seconds: warmSeconds })
  await load.run(limit.url, { seconds: 1 })
  for (let round = 0; round < setting.rounds; round++) {
    const one = await sound(load, ours, setting)
    results.push([one, await sound(load, limit, setting)])
    setting.tell(`  round ${round + 1}: ${results.at(-1)?.map(({ perSecond }) => Math.round(perSecond)).join(' of ')}`)
  }
  return {
    ours: median(results.map(([{ perSecond }]) => perSecond)),
    limit: median(results.map(([, { perSecond }]) => perSecond)),
    ratio: median(results.map(([one, other]) => one.perSecond / other.perSecond)),
    p50: median(results.map(([{ p50 }]) => p50)),
    p99: median(results.map(([{ p99 }]) => p99)),
    memory: ours.memory,
  }
}

/** A load of which every request was answered as it should be. */
async function sound(load: Load, server: ServerProcess, { seconds }: Setting): Promise<LoadResult> {
  const result = await load.run(server.url, { seconds })
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`)
  return result
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN
}

interface Kind {
  readonly commits: number
  readonly isPublic?: boolean
  readonly least: number
  readonly withToken?: boolean
  readonly conditional?: boolean
  requests(repository: MadeRepository): LoadRequest[]
}

/** A case that is a share of what node:http can do. */
function share(name: string, { commits, isPublic = true, least, withToken = !isPublic, conditional = false, requests }: Kind): Case {
  return {
    name,
    async run(setting) {
      const place = await running(setting, commits, { isPublic })
      const { server, repository, token } = place
      const all = requests(repository)
      const authorization = withToken ? { Authorization: `Bearer ${token}` } : {}
      const answer = async (method: string): Promise<Recorded | undefined> => {
        const sample = all.find((one) => one.method === method)
        return sample && (await record(`${server.url}${sample.path}`, { method, headers: authorization, ...(sample.body !== undefined && { body: sample.body }) }))
      }
      const [get, post] = [await answer('GET'), await answer('POST')]
      const etag = get?.headers['etag']
      const condition = conditional ? { 'If-None-Match': etag ?? '"none"' } : {}
      const canned = conditional && get ? { status: 304, headers: { ...get.headers, 'content-length': '0' }, body: '' } : get
      const limit = await ServerProcess.limit(canned, post)
      try {
        const load = new Load(join(setting.folder, 'requests'), all, { ...authorization, ...condition })
        const row = await compare(setting, load, commits > SMALL ? 20 : 2, server, limit)
        return [{ name, ...row, goal: `≥ ${least}`, reached: (row.ratio ?? 0) >= least }]
      } finally {
        await Promise.all([server.end(), limit.end()])
      }
    },
  }
}

/** So many of them, at equal distances. */
function spread(commits: readonly string[], count: number): string[] {
  return commits.filter((_, index) => index % Math.ceil(commits.length / count) === 0)
}

/** Nine lists for each report. */
function mixed({ commits }: MadeRepository): LoadRequest[] {
  return commits.slice(0, 100).flatMap((sha, index) => [...Array.from({ length: 9 }, () => list(sha)), report(sha, index)])
}

const first = ({ commits }: MadeRepository): string => commits[0] ?? ''

export const cases: readonly Case[] = [
  share('list, public, same commit', { commits: SMALL, least: 0.85, requests: (repository) => [list(first(repository))] }),
  share('list, private, with token', { commits: SMALL, isPublic: false, least: 0.75, requests: (repository) => [list(first(repository))] }),
  share('list, 100,000 commits at random', { commits: SPREAD, least: 0.5, requests: ({ commits }) => commits.map(list) }),
  share('conditional list: 304', { commits: SMALL, least: 0.9, conditional: true, requests: (repository) => [list(first(repository))] }),
  share('report, different commits', { commits: SPREAD, least: 0.6, withToken: true, requests: ({ commits }) => commits.map((sha, index) => report(sha, index)) }),
  share('report, one commit, 10 contexts', { commits: SMALL, least: 0.5, withToken: true, requests: (repository) => Array.from({ length: 10 }, (_, index) => report(first(repository), index)) }),
  share('90 % list, 10 % report', {
    commits: SMALL,
    least: 0.6,
    withToken: true,
    requests: mixed,
  }),
  {
    name: 'list while unknown ids flood in',
    async run(setting) {
      const { server, repository } = await running(setting, SMALL)
      try {
        const load = new Load(join(setting.folder, 'requests'), [list(first(repository))])
        const flood = new Load(join(setting.folder, 'flood'), Array.from({ length: 10_000 }, (_, index) => list(String(index).padStart(40, '0'))))
        const p99s: [number, number][] = []
        for (let round = 0; round < setting.rounds; round++) {
          const quiet = await sound(load, server, setting)
          const flooding = flood.run(server.url, { seconds: setting.seconds + 1 })
          const loaded = await sound(load, server, setting)
          await flooding
          p99s.push([loaded.p99, quiet.p99])
          setting.tell(`  round ${round + 1}: p99 ${loaded.p99} of ${quiet.p99} ms`)
        }
        const ratio = median(p99s.map(([loaded, quiet]) => loaded / quiet))
        return [{ name: this.name, ours: median(p99s.map(([loaded]) => loaded)), limit: median(p99s.map(([, quiet]) => quiet)), ratio, memory: server.memory, goal: 'p99 ≤ 2 times', reached: ratio <= 2 }]
      } finally {
        await server.end()
      }
    },
  },
  {
    name: 'large store',
    async run(setting) {
      const commits = setting.statuses / 10
      const small = await running(setting, SMALL)
      await placeOf(setting, commits)
      const began = performance.now()
      const large = await running(setting, commits)
      const startSeconds = (performance.now() - began) / 1000
      const start = await startTime(large, setting)
      const rows: Row[] = []
      try {
        for (const [kind, requests] of [['list', (sha: string) => list(sha)], ['report', report]] as const) {
          // As many commits of the large one as the small one has: what is in memory is the same then.
          const load = (repository: MadeRepository): Load => new Load(join(setting.folder, `requests-${repository.commits.length}`), spread(repository.commits, SMALL).map(requests), { Authorization: `Bearer ${repository === small.repository ? small.token : large.token}` })
          const [ours, other] = [load(large.repository), load(small.repository)]
          await ours.run(large.server.url, { seconds: 2 })
          await other.run(small.server.url, { seconds: 2 })
          const ratios: [LoadResult, LoadResult][] = []
          for (let round = 0; round < setting.rounds; round++) ratios.push([await sound(ours, large.server, setting), await sound(other, small.server, setting)])
          const ratio = median(ratios.map(([one, two]) => two.perSecond / one.perSecond))
          rows.push({
            name: `${kind}, ${setting.statuses.toLocaleString('en')} statuses against 10,000`,
            ours: median(ratios.map(([one]) => one.perSecond)),
            limit: median(ratios.map(([, two]) => two.perSecond)),
            ratio,
            p50: median(ratios.map(([one]) => one.p50)),
            p99: median(ratios.map(([one]) => one.p99)),
            memory: large.server.memory,
            goal: '≤ 1.3 times the time',
            reached: ratio <= 1.3,
          })
        }
        rows.push({ name: 'start to a good /healthz', ours: start, goal: '≤ 1 s', reached: start <= 1 })
        rows.push(...(await memoryRows(setting, large)))
      } finally {
        await Promise.all([small.server.end(), large.server.end()])
      }
      const perStatus = bytesOf(large.store) / setting.statuses
      rows.push({ name: 'bytes on disk per status', ours: perStatus, goal: '≤ 150', reached: perStatus <= 150 })
      setting.tell(`  set up in ${startSeconds} s`)
      return rows
    },
  },
  {
    name: 'list and report while a store is exported, imported, verified, pruned, backed up',
    async run(setting) {
      const place = await running(setting, Math.min(setting.statuses / 10, SPREAD))
      const load = new Load(join(setting.folder, 'requests'), mixed(place.repository), { Authorization: `Bearer ${place.token}` })
      const rows: Row[] = []
      try {
        await load.run(place.server.url, { seconds: 2 })
        const exported = join(setting.folder, 'export.jsonl')
        const backups = join(setting.folder, 'backups')
        await exportTo(place, exported)
        const commands = ['store export', 'store import', 'store verify', 'store prune --gone-commits --yes', 'store backup']
        for (const name of commands) {
          const args = (time: number): string[] => [...name.split(' '), ...(name === 'store backup' ? [join(backups, `${time}`)] : [])]
          const results: [LoadResult, LoadResult][] = []
          for (let round = 0; round < setting.rounds; round++) {
            const quiet = await sound(load, place.server, setting)
            mkdirSync(backups)
            const loaded = await whileCommand(place, { args, input: name === 'store import' ? exported : undefined }, async () => {
              // Until it has begun its work.
              await setTimeout(1000)
              return await sound(load, place.server, setting)
            })
            rmSync(backups, { recursive: true })
            results.push([loaded, quiet])
            setting.tell(`  round ${round + 1}: ${Math.round(loaded.perSecond)} of ${Math.round(quiet.perSecond)}, p99 ${loaded.p99} of ${quiet.p99} ms`)
          }
          const ratio = median(results.map(([loaded, quiet]) => loaded.perSecond / quiet.perSecond))
          rows.push({
            name: `list and report during ${name}`,
            ours: median(results.map(([loaded]) => loaded.perSecond)),
            limit: median(results.map(([, quiet]) => quiet.perSecond)),
            ratio,
            p50: median(results.map(([loaded]) => loaded.p50)),
            p99: median(results.map(([loaded]) => loaded.p99)),
            memory: place.server.memory,
            goal: '≥ 0.75 of without',
            reached: ratio >= 0.75,
          })
        }
      } finally {
        await place.server.end()
      }
      return rows
    },
  },
  {
    name: 'first confirmation of a commit',
    async run(setting) {
      const folder = join(setting.folder, 'repositories-packs')
      setting.tell('making 1,000,000 commits in 20 packs')
      const large = await makeRepositoryOf(folder, 'alice/large', 1_000_000, 20)
      const small = await makeRepositoryOf(folder, 'alice/small', 1_000)
      const confirm = async ({ name, commits }: MadeRepository): Promise<number> => {
        const finder = new CommitFinder()
        const id = parseObjectId(commits[Math.floor(Math.random() * commits.length)] ?? '')
        const began = performance.now()
        const found = id && (await finder.has(join(folder, `${name}.git`), id))
        const took = performance.now() - began
        finder.close()
        if (!found) throw new Error('the commit was not found')
        return took
      }
      const times: [number, number][] = []
      for (let round = 0; round < 50 * setting.rounds; round++) times.push([await confirm(large), await confirm(small)])
      const [ours, limit] = [median(times.map(([one]) => one)), median(times.map(([, other]) => other))]
      return [{ name: this.name, ours, limit, ratio: ours / limit, p50: ours, goal: '≤ 2 times', reached: ours / limit <= 2 }]
    },
  },
  {
    name: 'status list on a live service',
    async run(setting) {
      const place = await running(setting, SMALL)
      const times: number[] = []
      for (let round = 0; round < 2 * setting.rounds; round++) {
        const began = performance.now()
        await command(place, 'status', 'list', 'alice/hello', first(place.repository))
        times.push(performance.now() - began)
      }
      await place.server.end()
      const took = median(times)
      return [{ name: this.name, ours: took, p50: took, goal: '≤ 250 ms', reached: took <= 250 }]
    },
  },
]

/** Seconds from the start of the process to a good /healthz. */
async function startTime(place: Running, setting: Setting): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < setting.rounds; round++) {
    await place.server.end()
    const began = performance.now()
    const server = await ServerProcess.service(place)
    const { status } = await record(`${server.url}/healthz`)
    times.push(status === 200 ? (performance.now() - began) / 1000 : Infinity)
    Object.assign(place, { server })
  }
  return median(times)
}

/** Memory after all the loads, and how much it grows over a million requests more. */
async function memoryRows(setting: Setting, { server, repository }: Running): Promise<Row[]> {
  const load = new Load(join(setting.folder, 'requests'), spread(repository.commits, SPREAD).map(list))
  const more = async (requests: number): Promise<void> => {
    for (let done = 0; done < requests; done += (await load.run(server.url, { seconds: 5 })).requests) setting.tell(`  ${done} of ${requests} requests`)
  }
  // Until what is kept in memory is as much as it may be.
  await more(2 * SPREAD)
  const before = server.memory
  await more(1_000_000)
  const after = server.memory
  return [
    { name: 'memory after all that, MB', ours: after / 1_000_000, memory: after, goal: '≤ 200', reached: after <= 200_000_000 },
    { name: 'the same, a million lists earlier', ours: before / 1_000_000, ratio: after / before, memory: before, goal: 'flat', reached: after / before < 1.1 },
    { name: 'tables mapped into memory, MB', ours: server.mappedMemory / 1_000_000, goal: '', reached: true },
  ]
}
