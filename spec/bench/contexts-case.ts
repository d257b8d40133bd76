import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { median, type Case, type Row } from './setting.js'

const COMMITS = 64
const REPOSITORY = repositoryNamed('alice/hello')

/** What it costs to know how many contexts a commit has: once, when a new one is reported, and then it is known. */
export const contextsCase: Case = {
  name: 'contexts of a commit are counted',
  async run({ folder, rounds, tell }) {
    const rows: Row[] = []
    for (const contexts of [10, 1000]) {
      const place = join(folder, 'contexts')
      rmSync(place, { recursive: true, force: true })
      let store = await LevelStore.open(place)
      const ids = Array.from({ length: COMMITS }, (_, index) => commitId(`${index}a`))
      /** Reports on each commit; microseconds of processor time for one. */
      const save = async (context: string): Promise<number> => {
        const before = process.cpuUsage()
        await Promise.all(
          ids.map(async (commit) => await store.statuses.save(REPOSITORY, commit, reportOf(context), 0, 10_000)),
        )
        const { user, system } = process.cpuUsage(before)
        return (user + system) / COMMITS
      }
      for (let context = 0; context < contexts; context++) await save(`ci/${context}`)
      const kinds: Record<string, number[]> = {
        'a new context, first after a start': [],
        'a new context': [],
        again: [],
      }
      for (let round = 0; round < rounds; round++) {
        await store.close()
        store = await LevelStore.open(place)
        // What is there is replaced: the code is warm, and nothing is counted.
        for (let time = 0; time < 20; time++) await save('ci/0')
        kinds['a new context, first after a start']?.push(await save(`first/${round}`))
        kinds['a new context']?.push(await save(`second/${round}`))
        kinds['again']?.push(await save(`second/${round}`))
        tell(`  ${contexts} contexts, round ${round + 1}`)
      }
      await store.close()
      for (const [kind, times] of Object.entries(kinds)) {
        const took = median(times)
        const name = `store, report on a commit with ${contexts} contexts: ${kind}`
        rows.push({ name, processor: { ours: took }, ours: 1e6 / took, goal: '', reached: true })
      }
      rmSync(place, { recursive: true, force: true })
    }
    return rows
  },
}
