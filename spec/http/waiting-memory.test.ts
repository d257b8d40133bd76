import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

t.test('10,000 waits take less than 50 MB, beside what node:http has of requests without an answer', async (t) => {
  const folder = t.testdir()
  const { sha } = await makeRepositoryWithCommit(join(folder, 'repositories'), 'alice/hello', { public: true })
  const program = fileURLToPath(new URL('../fixtures/held-requests-process.ts', import.meta.url))
  const path = `/api/v1/repos/alice/hello/commits/${sha}/verdict?require=build`
  // Without tap's own bookkeeping of all that is asynchronous.
  const args = ['-i', `PATH=${process.env['PATH'] ?? ''}`, process.execPath, '--expose-gc']
  args.push(`--import=${fileURLToPath(new URL('../loader/register.js', import.meta.url))}`, program)
  const { stdout } = await promisify(execFile)('env', [
    ...args,
    join(folder, 'repositories'),
    join(folder, 'store'),
    path,
    '500',
  ])
  const [least = NaN, ours = NaN] = stdout.split(' ').map(Number)
  t.comment(`${Math.round(ours)} bytes each, of which ${Math.round(least)} are node's`)
  t.ok((ours - least) * 10_000 < 50e6, `${Math.round(ours - least)} bytes each`)
})
