import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sound } from './comparison.js'
import { Load, type LoadResult } from './load.js'
import { firstOf, mixed, running, SMALL, SPREAD } from './place.js'
import { command, exportTo, whileCommand } from './processes.js'
import { median, type Case, type Row } from './setting.js'

/** What long commands leave of the speed of a running service. */
export const duringCommands: Case = {
  name: 'list and report while a store is exported, imported, verified, pruned, backed up',
  async run(setting) {
    const place = await running(setting, Math.min(setting.statuses / 10, SPREAD))
    const load = new Load(join(setting.folder, 'requests'), mixed(place.repository), {
      Authorization: `Bearer ${place.token}`,
    })
    const rows: Row[] = []
    try {
      await load.run(place.server.url, { seconds: 2 })
      const exported = join(setting.folder, 'export.jsonl')
      const backups = join(setting.folder, 'backups')
      await exportTo(place, exported)
      const commands = [
        'store export',
        'store import',
        'store verify',
        'store prune --gone-commits --yes',
        'store backup',
      ]
      for (const name of commands) {
        const args = (time: number): string[] => [
          ...name.split(' '),
          ...(name === 'store backup' ? [join(backups, `${time}`)] : []),
        ]
        const results: [LoadResult, LoadResult][] = []
        for (let round = 0; round < setting.rounds; round++) {
          const quiet = await sound(load, place.server, setting)
          rmSync(backups, { recursive: true, force: true })
          mkdirSync(backups)
          const loaded = await whileCommand(
            place,
            { args, input: name === 'store import' ? exported : undefined },
            async () => {
              // Until it has begun its work.
              await setTimeout(1000)
              return await sound(load, place.server, setting)
            },
          )
          rmSync(backups, { recursive: true })
          results.push([loaded, quiet])
          setting.tell(
            `  round ${round + 1}: ${Math.round(loaded.perSecond)} of ${Math.round(quiet.perSecond)}, p99 ` +
              `${loaded.p99} of ${quiet.p99} ms`,
          )
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
}

/** How long a command takes beside a running service. */
export const statusList: Case = {
  name: 'status list on a live service',
  async run(setting) {
    const place = await running(setting, SMALL)
    const times: number[] = []
    for (let round = 0; round < 2 * setting.rounds; round++) {
      const began = performance.now()
      await command(place, 'status', 'list', 'alice/hello', firstOf(place.repository))
      times.push(performance.now() - began)
    }
    await place.server.end()
    const took = median(times)
    return [{ name: this.name, ours: took, p50: took, goal: '≤ 250 ms', reached: took <= 250 }]
  },
}
