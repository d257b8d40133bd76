import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'
import { PacedFiles } from '../../lib/git/paced-files.js'
import { slowPace } from '../fixtures/slow-pace.js'

for (const [disk, makePace] of Object.entries({ fast: () => new SyncWhileFast(), slow: slowPace })) {
  t.test(`What is at a path is found on a ${disk} disk, and what is not`, async (t) => {
    const folder = t.testdir({ file: 'text' })
    const files = new PacedFiles(makePace())
    const file = join(folder, 'file')
    t.equal((await files.stat(file))?.ino, statSync(file).ino)
    t.equal((await files.exactStat(file))?.mtimeNs, statSync(file, { bigint: true }).mtimeNs)
    t.equal(await files.stat(join(folder, 'nothing')), undefined)
    t.equal(await files.exactStat(join(folder, 'nothing')), undefined)
    t.equal(await files.stat(join(folder, 'nothing', 'below')), undefined)
    mkdirSync(join(folder, 'folder'))
    symlinkSync('folder', join(folder, 'link'))
    t.equal(await files.realpath(join(folder, 'link')), await files.realpath(join(folder, 'folder')))
  })

  t.test(`What cannot be told on a ${disk} disk rejects`, async (t) => {
    const folder = t.testdir({ file: 'text' })
    const files = new PacedFiles(makePace())
    symlinkSync('loop', join(folder, 'loop'))
    for (const [name, code] of Object.entries({ 'loop/file': 'ELOOP', 'file/below': 'ENOTDIR' })) {
      await t.rejects(files.stat(join(folder, name)), { code })
      await t.rejects(files.exactStat(join(folder, name)), { code })
      await t.rejects(files.realpath(join(folder, name)), { code })
    }
    await t.rejects(files.realpath(join(folder, 'nothing')), { code: 'ENOENT' })
    writeFileSync(join(folder, 'nothing'), '')
    t.ok(await files.stat(join(folder, 'nothing')), 'it is seen at once when it comes')
  })
}
