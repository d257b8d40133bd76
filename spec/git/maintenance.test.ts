import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { environment } from '../fixtures/git.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'

/** How long at least, and how many times at least in each repository. */
const MILLISECONDS = 1500
const TIMES = 4

/** What administrators run, again and again, while the repository is used. */
const maintenance: Record<string, string> = {
  'git repack -ad': 'git repack -adq',
  'git repack -ad with a multi-pack-index': 'git repack -adq --write-midx',
  'git repack -ad and a multi-pack-index by turns': 'git repack -dq; git multi-pack-index write; git repack -adq',
  'git gc --prune=now': 'git gc --quiet --prune=now',
}

/**
 * As long as there is a file `go`: makes a commit, prints its id, does the maintenance. (In a process of its own, as
 * each start of one holds this process up.)
 */
function maintain(directory: string, command: string, made: (id: string) => void): Promise<void> {
  const script = `
    cd "$0" && touch go && tree=$(git mktree </dev/null) || exit
    while [ -e go ]; do
      number=$((number + 1))
      commit=$(git commit-tree -m "commit $number" "$tree")
      git update-ref "refs/heads/branch-$number" "$commit" && echo "$commit"
      ${command}
    done`
  const child = spawn('sh', ['-c', script, directory], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
  createInterface(child.stdout).on('line', made)
  return new Promise((resolve) => child.on('close', () => resolve()))
}

for (const [name, command] of Object.entries(maintenance)) {
  t.test(`${name} never hides an existing commit, nor fails a look-up`, async (t) => {
    const folder = t.testdir()
    const [finder, hasty] = [makeFinder(t), makeFinder(t, { handles: 1 })]
    const end = performance.now() + MILLISECONDS
    const wrong: unknown[] = []
    let lookUps = 0
    const ask = async (directory: string, id: string): Promise<void> => {
      // One of them opens a repository nearly each time, which is when it may see packs come and go.
      const answer = await (lookUps++ % 2 ? finder : hasty).has(directory, id).catch((error: unknown) => error)
      if (answer !== true) wrong.push([id, answer])
    }
    const work = formats.map(async (format) => {
      const { directory, commits } = await makeRepositoryWithHistory(folder, `alice/${format}`, { format, commits: 20 })
      const asked: Promise<void>[] = []
      const maintained = maintain(directory, command, (id) => {
        commits.push(id)
        asked.push(ask(directory, id))
      })
      t.teardown(() => {
        rmSync(join(directory, 'go'), { force: true })
      })
      const callers = [...Array(16).keys()].map(async (caller) => {
        for (let at = caller; performance.now() < end || commits.length < 20 + TIMES; at += 7)
          await ask(directory, commits[at % commits.length] ?? '')
      })
      await Promise.all(callers)
      rmSync(join(directory, 'go'))
      await maintained
      await Promise.all(asked)
      t.comment(`${format}: done ${commits.length - 20} times`)
      t.equal(
        await finder.has(directory, unknownId(format)),
        false,
        `${format}: what is not there is missing in the end`,
      )
    })
    await Promise.all(work)
    t.strictSame(wrong, [], `${lookUps} look-ups`)
  })
}
