import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beside } from './beside.js'
import { fill, makeRepositoryOf } from './data.js'
import { Load } from './load.js'
import { list, report, tokenOf } from './place.js'
import { command } from './processes.js'
import { Services } from './services.js'
import type { Case, Row } from './setting.js'

const COMMITS = 10
const MOST_TIMES = 1.1

/** Repositories in each layout, what they are called, and by which address. */
const layouts = [
  { name: 'owner/repo.git', folder: 'alice/hello.git', full: 'alice/hello', path: 'alice/hello' },
  { name: 'flat, repo.git', folder: 'flat.git', full: 'git/flat', path: 'git/flat' },
  { name: 'without .git', folder: 'alice/plain', full: 'alice/plain', path: 'alice/plain' },
  { name: 'nested, team/sub/deep.git', folder: 'team/sub/deep.git', full: 'team/sub/deep', path: 'team/sub%2Fdeep' },
]

/** What a list and a report cost in each layout, beside those of `<owner>/<repo>.git`, on one service. */
export const layoutsCase: Case = {
  name: 'layouts of repositories',
  async run(setting) {
    const { folder } = setting
    const place = { repositories: join(folder, 'repositories-layouts'), store: join(folder, 'store-layouts') }
    for (const path of Object.values(place)) rmSync(path, { recursive: true, force: true })
    const { commits } = await makeRepositoryOf(place.repositories, 'alice/hello', COMMITS)
    for (const other of layouts.slice(1))
      cpSync(join(place.repositories, 'alice/hello.git'), join(place.repositories, other.folder), { recursive: true })
    const names = layouts.map(({ full }) => full)
    await fill(place.store, names, commits, () => undefined)
    const token = await tokenOf(place, 'alice')
    for (const owner of ['git', 'team']) await command(place, 'access', 'grant', owner, 'alice', 'write')
    const services = await Services.start(setting, place)
    const rows: Row[] = []
    try {
      for (const [kind, headers, requestOf] of [
        ['list', {}, list],
        ['report', { Authorization: `Bearer ${token}` }, (sha: string, path: string) => report(sha, 0, path)],
      ] as const) {
        const [first, ...others] = layouts.map(({ name, path }, index) => ({
          name: `${kind}, ${name} against owner/repo.git`,
          load: new Load(
            join(folder, `requests-layout-${kind}-${index}`),
            commits.map((sha) => requestOf(sha, path)),
            headers,
          ),
          most: MOST_TIMES,
        }))
        if (first) rows.push(...(await beside(setting, services, first.load, others)))
      }
      return rows
    } finally {
      await services.end()
    }
  },
}
