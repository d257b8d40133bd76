import { join } from 'node:path'
import { sound } from './comparison.js'
import { bytesOf, type MadeRepository } from './data.js'
import { Load, type LoadResult } from './load.js'
import { list, placeOf, report, running, SMALL, SPREAD, spread, type Running } from './place.js'
import { record, ServerProcess } from './processes.js'
import { median, type Case, type Row, type Setting } from './setting.js'

/** Ten million statuses against ten thousand; what that takes to start, in memory and on disk. */
export const largeStore: Case = {
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
      for (const [kind, requests] of [
        ['list', (sha: string) => list(sha)],
        ['report', (sha: string, index: number) => report(sha, index)],
      ] as const) {
        // As many commits of the large one as the small one has: what is in memory is the same then.
        const load = (repository: MadeRepository): Load =>
          new Load(
            join(setting.folder, `requests-${repository.commits.length}`),
            spread(repository.commits, SMALL).map(requests),
            { Authorization: `Bearer ${repository === small.repository ? small.token : large.token}` },
          )
        const [ours, other] = [load(large.repository), load(small.repository)]
        await ours.run(large.server.url, { seconds: 2 })
        await other.run(small.server.url, { seconds: 2 })
        const ratios: [LoadResult, LoadResult][] = []
        for (let round = 0; round < setting.rounds; round++)
          ratios.push([await sound(ours, large.server, setting), await sound(other, small.server, setting)])
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
}

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
  const load = new Load(
    join(setting.folder, 'requests'),
    spread(repository.commits, SPREAD).map((sha) => list(sha)),
  )
  const more = async (requests: number): Promise<void> => {
    for (let done = 0; done < requests; done += (await load.run(server.url, { seconds: 5 })).requests)
      setting.tell(`  ${done} of ${requests} requests`)
  }
  // Until what is kept in memory is as much as it may be.
  await more(2 * SPREAD)
  const before = server.memory
  await more(1_000_000)
  const after = server.memory
  return [
    {
      name: 'memory after all that, MB',
      ours: after / 1_000_000,
      memory: after,
      goal: '≤ 200',
      reached: after <= 200_000_000,
    },
    {
      name: 'the same, a million lists earlier',
      ours: before / 1_000_000,
      ratio: after / before,
      memory: before,
      goal: 'flat',
      reached: after / before < 1.1,
    },
    { name: 'tables mapped into memory, MB', ours: server.mappedMemory / 1_000_000, goal: '', reached: true },
  ]
}
