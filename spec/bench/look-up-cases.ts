import { join } from 'node:path'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { sound } from './comparison.js'
import { makeRepositoryOf, type MadeRepository } from './data.js'
import { Load } from './load.js'
import { firstOf, list, running, SMALL } from './place.js'
import { median, type Case } from './setting.js'

/** Lists while others ask for commits that there are not. */
export const flood: Case = {
  name: 'list while unknown ids flood in',
  async run(setting) {
    const { server, repository } = await running(setting, SMALL)
    try {
      const load = new Load(join(setting.folder, 'requests'), [list(firstOf(repository))])
      const flood = new Load(
        join(setting.folder, 'flood'),
        Array.from({ length: 10_000 }, (_, index) => list(String(index).padStart(40, '0'))),
      )
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
      return [
        {
          name: this.name,
          ours: median(p99s.map(([loaded]) => loaded)),
          limit: median(p99s.map(([, quiet]) => quiet)),
          ratio,
          memory: server.memory,
          goal: 'p99 ≤ 2 times',
          reached: ratio <= 2,
        },
      ]
    } finally {
      await server.end()
    }
  },
}

/** The first look at a commit, in large and in small repositories. */
export const firstConfirmation: Case = {
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
    return [
      { name: this.name, ours, limit, ratio: ours / limit, p50: ours, goal: '2 times', reached: ours / limit <= 2 },
    ]
  },
}
