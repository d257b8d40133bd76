// Every link, form and redirect of the pages begins with what an admin or a host has set. With `https://x//ci` as
// `publicUrl` they began with `//ci/`, which browsers take for the host `ci`: somebody else's.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCommitStatusService, type CommitStatusOptions } from '../../lib/index.js'
import { readSettings } from '../../lib/stand-alone/settings.js'

/** Makes a service with these options. */
async function made(t: Test, options: Partial<CommitStatusOptions>): Promise<void> {
  const folder = t.testdir({ repositories: {} })
  const service = await createCommitStatusService({
    repositories: join(folder, 'repositories'),
    store: `level:${join(folder, 'store')}`,
    ...options,
  })
  await service.close()
}

t.test('A publicUrl with // in its path is refused, as a setting and as an option', async (t) => {
  const [home, directory] = ['/', t.testdir()]
  const asked = (publicUrl: string) =>
    readSettings({ environment: { COMMIT_STATUS_PUBLIC_URL: publicUrl }, home, directory })
  for (const url of ['https://status.example.com//ci', 'https://status.example.com/ci//', 'http://[::1]:1/a//b']) {
    const message = `= ${JSON.stringify(url)}: must match format "path-without-//"`
    t.throws(() => asked(url), { message: `bad setting publicUrl (COMMIT_STATUS_PUBLIC_URL) ${message}` })
    const file = join(directory, 'settings.json')
    writeFileSync(file, JSON.stringify({ publicUrl: url }))
    t.throws(() => readSettings({ environment: {}, home, directory, file }), {
      message: `bad setting publicUrl (${file}) ${message}`,
    })
    await t.rejects(made(t, { publicUrl: url }), {
      message: 'createCommitStatusService: the option publicUrl must match format "path-without-//"',
    })
  }
  for (const url of ['', 'https://status.example.com', 'https://status.example.com/', 'http://[::1]:1/a/b/']) {
    t.equal(asked(url).publicUrl, url)
    await t.resolves(made(t, { publicUrl: url }), url)
  }
})
