import { execFile } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git } from '../fixtures/git.js'
import { makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'
import { missing } from '../fixtures/program.js'

/** Does something while this process cannot open one file more. */
async function withoutDescriptors<T>(work: () => Promise<T>): Promise<T> {
  const limit = async (value: string): Promise<unknown> =>
    await promisify(execFile)('prlimit', ['--pid', String(process.pid), `--nofile=${value}`])
  const taken: number[] = []
  const { stdout } = await promisify(execFile)('prlimit', [
    '--pid',
    String(process.pid),
    '--nofile',
    '--output=SOFT',
    '--noheadings',
  ])
  await limit('200:')
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {
    return await work()
  } finally {
    for (const descriptor of taken) closeSync(descriptor)
    await limit(`${stdout.trim()}:`)
  }
}

const skip = await missing('util-linux')

for (const format of formats) {
  t.test(`Without file descriptors nothing is taken for missing, format ${format}`, { skip }, async (t) => {
    const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format })
    await git('-C', directory, 'repack', '-adq')
    const others = await makeHistory(directory, 3, 'other')
    await git('-C', directory, 'repack', '-dq')
    const [loose = ''] = await makeHistory(directory, 1, 'loose')
    const asked = [...commits, ...others, unknownId(format, 1), unknownId(format, 2)]
    const right = asked.map((id) => !id.startsWith('facade'))
    const before: Record<string, string> = {
      'packs that nobody has looked into': loose,
      'packs of which one is open': commits[0] ?? '',
      'packs that are all open': unknownId(format, 1),
    }
    for (const [what, id] of Object.entries(before)) {
      const finder = makeFinder(t)
      await finder.has(directory, id)
      const answers = await withoutDescriptors(
        async () => await Promise.allSettled(asked.map(async (id) => await finder.has(directory, id))),
      )
      for (const [at, answer] of answers.entries()) {
        t.ok(
          answer.status === 'rejected' ? answer.reason instanceof RepositoryUnreadable : answer.value === right[at],
          `${what}: refused or right`,
        )
      }
      // Where packs are open, letting go of them makes room.
      if (id === loose) t.strictSame(new Set(answers.map(({ status }) => status)), new Set(['rejected']))
      t.strictSame(
        await Promise.all(asked.map(async (id) => await finder.has(directory, id))),
        right,
        'all is well again',
      )
      finder.close()
    }
  })
}
