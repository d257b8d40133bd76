import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openWindow, startBrowser } from '../fixtures/browser.js'
import { makeCommit } from '../fixtures/git.js'
import { pagesOf } from '../fixtures/visit.js'

/*
 * Takes the picture of the README from a real run:
 *   node --import=./spec/loader/register.js spec/pages/picture.ts
 */

t.test('The picture of a commit page', async (t) => {
  let now = Date.now()
  const { service, home, directory, token } = await pagesOf(t, { clock: { now: () => now } })
  const sha = await makeCommit(directory, 'Keep comments when a file is parsed')
  const report = async (context: string, state: string, description: string): Promise<void> => {
    const target_url = `https://ci.example.com/${context}/812`
    const { status } = await service.report('alice/hello', sha, token, { context, state, description, target_url })
    t.equal(status, 201)
  }
  for (const context of ['build', 'lint', 'test/unit', 'test/browser'])
    await report(context, 'pending', 'waiting for a machine')
  now += 12_000
  await report('lint', 'success', 'no findings')
  now += 29_000
  await report('build', 'success', 'no warnings')
  now += 95_000
  await report('test/unit', 'failure', '411 of 412 passed: parser/comments.test.ts')
  const options = { viewport: { width: 1000, height: 520 }, deviceScaleFactor: 1.5 }
  const window = await openWindow(await startBrowser(t), options)
  const page = await window.newPage()
  await page.goto(`${service.url}${home}/commits/${sha}`)
  await page.screenshot({ path: fileURLToPath(new URL('../../lib/pages/commit-page.png', import.meta.url)) })
})
