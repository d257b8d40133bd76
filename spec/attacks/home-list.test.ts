// The home page is made from a list of the folder that may be some seconds old, since a large folder takes as long to
// read. Once it went on naming a repository that had been made private, or removed, to everybody, "without its state".
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRepository } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

t.test('A repository that was made private, or removed, is at once on no home page of others', async (t) => {
  const service = await startService(t)
  const names = ['zed/hidden', 'zed/open', 'zed/removed']
  for (const name of names) await makeRepository(service.repositories, name, { public: true })
  const named = async () => {
    const { status, text } = await visit(service, '/?q=zed')
    t.equal(status, 200)
    return names.filter((name) => text.includes(name))
  }
  t.strictSame(await named(), names)
  // From now on no time passes, so that the list stays as it is.
  t.intercept(performance, 'now', { value: () => 0 })
  await makeRepository(service.repositories, 'zed/later', { public: true })
  t.notMatch((await visit(service, '/?q=zed')).text, 'zed/later', 'the list is from before')

  await service.admin.setVisibility('zed/hidden', 'private')
  rmSync(join(service.repositories, 'zed/removed.git'), { recursive: true })
  t.strictSame(await named(), ['zed/open'])
  rmSync(join(service.repositories, 'zed/open.git'), { recursive: true })
  t.match((await visit(service, '/')).text, 'There is no repository yet that you may read')
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 40),
    [],
  )
})
