import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCommitStatusService } from '../../lib/index.js'
import { makeRepository } from '../fixtures/git.js'

t.test('A program that changes a repository and asks at once is answered from after the change', async (t) => {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const service = await createCommitStatusService({ repositories: folder, store: `level:${join(folder, '.store')}` })
  const mark = join(directory, 'git-daemon-export-ok')
  // All that is asked for is in memory: without a turn of its own, each would be answered in the same one.
  for (let round = 0; round < 20; round++) {
    writeFileSync(mark, '')
    t.equal(await service.access(undefined, 'alice/hello'), 'read')
    rmSync(mark)
    t.equal(await service.access(undefined, 'alice/hello'), 'none')
    t.equal(await service.access('alice', 'alice/hello'), 'write')
  }
  rmSync(directory, { recursive: true })
  t.equal(await service.access('alice', 'alice/hello'), 'none')
  await service.close()
})
