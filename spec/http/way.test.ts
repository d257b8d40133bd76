import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

/** The most files that a request of a kind may enter, and the most moves from one to another. */
const MOST = {
  report: [42, 110],
  list: [30, 80],
  anonymousList: [24, 60],
  githubList: [40, 104],
  page: [30, 82],
} as const

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

t.test('A reader follows a request through few files, and goes back and forth little', async (t) => {
  const folder = t.testdir({ repositories: {} })
  const { sha } = await makeRepositoryWithCommit(`${folder}/repositories`, 'alice/hello', { public: true })
  const loaders = ['register.js', 'register-probes.js'].map((name) => `--import=${here(`../loader/${name}`)}`)
  const program = [...loaders, here('../fixtures/probed-process.ts'), folder, sha]
  // Without tap's environment: what is probed is other code than the coverage is of.
  const { stdout } = await promisify(execFile)('env', ['-i', process.execPath, ...program])
  const entered = JSON.parse(stdout) as Record<string, string[]>
  t.strictSame(Object.keys(entered), Object.keys(MOST))
  for (const [kind, [mostFiles, mostMoves]] of Object.entries(MOST)) {
    const { [kind]: way = [] } = entered
    const moves = way.filter((file, index) => index > 0 && file !== way[index - 1])
    t.comment(`${kind}: ${new Set(way).size} files, ${moves.length} moves`)
    t.ok(way.length > 50, `${kind} is seen`)
    t.ok(new Set(way).size <= mostFiles, `${kind}: files`)
    t.ok(moves.length <= mostMoves, `${kind}: moves`)
  }
})
