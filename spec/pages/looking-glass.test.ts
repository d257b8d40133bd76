import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openWindow, startBrowser } from '../fixtures/browser.js'
import { startCgi } from '../fixtures/cgi-server.js'
import { git, gitWithInput, makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { missing } from '../fixtures/program.js'
import { pagesOf } from '../fixtures/visit.js'

const CGIT = '/usr/lib/cgit/cgit.cgi'
const GITWEB = '/usr/share/gitweb/gitweb.cgi'
const filter = fileURLToPath(new URL('../../config/cgit-filter.sh', import.meta.url))

const cgitIsMissing = await missing('chromium', 'cgit')
const gitwebIsMissing = await missing('chromium', 'gitweb', 'libcgi-pm-perl')

t.setTimeout(90_000)

/** A service with a public repository of three commits, two of them reported on, and a private one. */
async function world(t: Test, settings = {}) {
  const hosted = await pagesOf(t, { settings })
  const { service, directory, sha, token } = hosted
  const second = await makeCommit(directory, 'second\n\nWith a message <b>.\n')
  const third = await makeCommit(directory, 'third')
  await service.report('alice/hello', sha, token, { state: 'success', context: 'build' })
  await service.report('alice/hello', second, token, { state: 'failure', context: '<script>alert(1)</script>' })
  const secret = await makeRepositoryWithCommit(service.repositories, 'alice/secret')
  await service.report('alice/secret', secret.sha, token, { state: 'success' })
  return { ...hosted, second, third, secret }
}

/** A line of a recipe, with the address of the service. */
function here(line: string, { url }: { readonly url: string }): string {
  return line.replaceAll('https://status.example.com', url)
}

/** A cgit with the filter and one repository. */
async function cgitOf(t: Test, { url }: { readonly url: string }, directory: string): Promise<string> {
  const cgitrc = join(t.testdirName, 'cgitrc')
  const lines = [`commit-filter=${filter}`, 'virtual-root=/cgit/', 'cache-size=0', 'repo.url=alice/hello.git']
  writeFileSync(cgitrc, `${[...lines, `repo.path=${directory}`].join('\n')}\n`)
  const environment = { CGIT_CONFIG: cgitrc, COMMIT_STATUS_URL: url, HOME: '/nonexistent' }
  return await startCgi(t, CGIT, { script: '/cgit', environment })
}

t.test('cgit marks the rows of its log, and shows statuses under a message', { skip: cgitIsMissing }, async (t) => {
  const [json = ''] = codeBlocks(chapter('config/pages.md', '## cgit'), 'json')
  const settings = JSON.parse(json) as { publicUrl: string }
  const { service, second, third, secret } = await world(t, settings)
  const folder = t.testdirName
  const [head = ''] = codeBlocks(chapter('config/pages.md', '## cgit'), 'html')
  writeFileSync(join(folder, 'head.html'), here(head, service))
  writeFileSync(
    join(folder, 'cgitrc'),
    [
      `head-include=${join(folder, 'head.html')}`,
      `commit-filter=${filter}`,
      'virtual-root=/cgit/',
      'cache-size=0',
      ...['hello', 'secret'].flatMap((name) => [
        `repo.url=alice/${name}.git`,
        `repo.path=${service.repositories}/alice/${name}.git`,
      ]),
      '',
    ].join('\n'),
  )
  const url = await startCgi(t, CGIT, {
    script: '/cgit',
    environment: { CGIT_CONFIG: join(folder, 'cgitrc'), COMMIT_STATUS_URL: service.url, HOME: '/nonexistent' },
  })
  const page = await (await openWindow(await startBrowser(t))).newPage()
  const scripts: string[] = []
  page.on('dialog', (dialog) => {
    scripts.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(`${url}/alice/hello.git/log/`)
  await page.locator('a.commit-status').first().waitFor()
  const marks = page.locator('a.commit-status')
  t.strictSame(await marks.allTextContents(), ['✗', '✓'], 'of three commits, those that were reported on')
  t.equal(await marks.first().getAttribute('href'), `${service.url}/repos/alice/hello/commits/${second}`)
  t.equal(await marks.first().getAttribute('aria-label'), 'commit status: failure, 1 status')
  await page.goto(`${url}/alice/hello.git/commit/?id=${second}`)
  const statuses = page.locator('.commit-statuses')
  t.equal(await statuses.count(), 1)
  t.match(await statuses.textContent(), 'failure')
  const shown = await statuses.locator('a').first().getAttribute('href')
  t.equal(shown, `${settings.publicUrl}/repos/alice/hello/commits/${second}`)
  t.match(await statuses.textContent(), '<script>alert(1)</script>')
  t.match(await page.locator('.commit-msg').textContent(), 'With a message <b>.')
  await page.goto(`${url}/alice/hello.git/commit/?id=${third}`)
  t.match(await statuses.textContent(), 'no status')
  await page.goto(`${url}/alice/hello.git/commit/?id=${second}`, { waitUntil: 'networkidle' })
  t.equal(await marks.count(), 0, 'links of a commit page are not marked')
  await page.goto(`${url}/alice/secret.git/commit/?id=${secret.sha}`)
  t.equal(await statuses.count(), 0, 'nothing is told of a private repository')
  t.strictSame(scripts, [])
})

/** A service with public repositories in no folder and in a deeper one, and a commit of each that is reported on. */
async function layouts(t: Test, settings = {}) {
  const { service } = await pagesOf(t, { settings })
  const placed = []
  for (const [path, owner, address] of [
    ['project', 'git', 'git/project'],
    ['team/sub/gtk+', 'team', 'team/sub%2Fgtk+'],
  ] as const) {
    const { sha } = await makeRepositoryWithCommit(service.repositories, path, { public: true })
    const { status } = await service.report(address, sha, await service.tokenOf(owner), { state: 'success' })
    t.equal(status, 201)
    placed.push({ path, sha, page: `${service.url}/repos/${address}/commits/${sha}` })
  }
  return { service, placed }
}

t.test('cgit marks repositories in no folder and in deeper ones', { skip: cgitIsMissing }, async (t) => {
  const { service, placed } = await layouts(t)
  const folder = t.testdirName
  const [head = ''] = codeBlocks(chapter('config/pages.md', '## cgit'), 'html')
  writeFileSync(join(folder, 'head.html'), here(head, service))
  const page = await (await openWindow(await startBrowser(t))).newPage()
  const lines = [`head-include=${join(folder, 'head.html')}`, `commit-filter=${filter}`, 'cache-size=0']
  // Each of the ways that cgit has its own addresses, and finds and names repositories.
  for (const [index, [suffix, more]] of [
    ['.git', ['virtual-root=/cgit/']],
    ['', ['remove-suffix=1']],
  ].entries() as Iterable<[number, [string, string[]]]>) {
    const cgitrc = join(folder, `cgitrc${index}`)
    writeFileSync(cgitrc, [...lines, ...more, `scan-path=${service.repositories}`, ''].join('\n'))
    const environment = { CGIT_CONFIG: cgitrc, COMMIT_STATUS_URL: service.url, HOME: '/nonexistent' }
    const url = await startCgi(t, CGIT, { script: '/cgit', environment })
    for (const { path, sha, page: shown } of placed) {
      await page.goto(`${url}/${path.replace('+', '%2b')}${suffix}/log/`)
      const marks = page.locator('a.commit-status')
      await marks.first().waitFor()
      t.strictSame(await marks.allTextContents(), ['✓'], path)
      t.equal(await marks.first().getAttribute('href'), shown)
      t.equal((await page.request.get(shown)).status(), 200)
      await page.goto(`${url}/${path.replace('+', '%2b')}${suffix}/commit/?id=${sha}`)
      t.match(await page.locator('.commit-msg .commit-statuses').textContent(), 'success', path)
    }
  }
})

t.test('cgit shows the statuses once, however the message ends', { skip: cgitIsMissing }, async (t) => {
  const { service, directory, token } = await pagesOf(t)
  const tree = await gitWithInput('', '-C', directory, 'mktree')
  const url = await cgitOf(t, service, directory)
  const page = await (await openWindow(await startBrowser(t))).newPage()
  for (const message of [
    'subject',
    'subject\n',
    'subject\n\nlast line',
    'subject\n\nlast line\n',
    'subject\n\nsubject\n',
    'subject\n\nsubject',
    'Merge <a> & b\n\nKeep <b> &amp; comments',
    'subject\n\none\ntwo',
    'subject\n\n\u00fcn\u00efcode',
    'subject\n\nback\\slash & $HOME *',
    '\n\nwithout a subject',
  ]) {
    const sha = await gitWithInput(message, '-C', directory, 'commit-tree', tree)
    await service.report('alice/hello', sha, token, { state: 'failure', context: 'test' })
    await page.goto(`${url}/alice/hello.git/commit/?id=${sha}`)
    const blocks = await page.locator('.commit-statuses').all()
    const shown = await Promise.all(blocks.map(async (block) => await block.isVisible()))
    t.equal(shown.filter(Boolean).length, 1, JSON.stringify(message))
    t.match(await page.locator('.commit-msg').textContent(), 'failure', JSON.stringify(message))
  }
})

t.test('cgit shows statuses as readable as its own pages', { skip: cgitIsMissing }, async (t) => {
  const { service, directory, sha, token } = await pagesOf(t)
  const branch = 'odd/+#%\u00e9'
  await git('-C', directory, 'branch', branch)
  await git('-C', directory, 'tag', '-a', '-m', 'a tag', 'v1', sha)
  const url = await cgitOf(t, service, directory)
  const page = await (await openWindow(await startBrowser(t), { viewport: { width: 390, height: 800 } })).newPage()
  const width = async () => await page.evaluate<number>('document.documentElement.scrollWidth')
  await page.goto(`${url}/alice/hello.git/commit/?id=${sha}`)
  const usual = await width()
  const description = `${'words '.repeat(10)}${'x'.repeat(80)}`
  await service.report('alice/hello', sha, token, { state: 'failure', context: 'y'.repeat(100), description })
  await service.report('alice/hello', sha, token, { state: 'success', context: 'build' })
  await page.reload()
  const block = page.locator('.commit-msg .commit-statuses')
  t.ok((await width()) <= usual, 'the page is no wider than without them')
  const box = await block.boundingBox()
  if (!box) throw new Error('the statuses are not shown')
  t.ok(box.x + box.width <= Math.max(usual, 390))
  t.ok(box.height < 300, 'no empty lines between')
  const styleOf = async (selector: string) => {
    const style = `getComputedStyle(document.querySelector('.commit-msg ${selector}'))`
    return await page.evaluate<string[]>(`(({ color, fontFamily }) => [color, fontFamily])(${style})`)
  }
  t.strictSame(await styleOf('li .failure'), ['rgb(207, 34, 46)', 'sans-serif'])
  t.strictSame(await styleOf('li .success'), ['rgb(26, 127, 55)', 'sans-serif'])

  for (const query of ['', '?h=main', `?h=${encodeURIComponent(branch)}`, `?id=${sha.slice(0, 9)}`, '?id=v1']) {
    await page.goto(`${url}/alice/hello.git/commit/${query}`)
    t.match(await page.locator('.commit-msg .commit-statuses').textContent(), 'build', query)
  }
  for (const query of ['?h=nothing', '?id=main^{/A}', '?id=main~0', '?h=--all', '?id=HEAD@{0}']) {
    await page.goto(`${url}/alice/hello.git/commit/${query}`)
    t.equal(await page.locator('.commit-statuses').count(), 0, query)
  }
})

t.test('gitweb marks the rows of its log, as the XHTML that browsers get', { skip: gitwebIsMissing }, async (t) => {
  const { service, second } = await world(t)
  const config = join(t.testdirName, 'gitweb.conf')
  const [recipe = ''] = codeBlocks(chapter('config/pages.md', '## gitweb'), 'perl')
  writeFileSync(config, `our $projectroot = '${service.repositories}';\n${here(recipe, service)}`)
  const url = await startCgi(t, GITWEB, { script: '/gitweb', environment: { GITWEB_CONFIG: config, HOME: '/root' } })
  await git('config', '--file', join(service.repositories, 'alice/hello.git/config'), 'gitweb.owner', 'alice')
  const page = await (await openWindow(await startBrowser(t))).newPage()
  for (const action of ['shortlog', 'log', 'summary']) {
    const answer = await page.goto(`${url}?p=alice/hello.git;a=${action}`)
    t.match(answer?.headers()['content-type'], 'application/xhtml+xml')
    await page.locator('a.commit-status').first().waitFor()
    const marks = page.locator('a.commit-status')
    t.strictSame(await marks.allTextContents(), ['✗', '✓'], action)
    t.equal(await marks.first().getAttribute('href'), `${service.url}/repos/alice/hello/commits/${second}`)
  }
  for (const action of ['commit', 'commitdiff']) {
    await page.goto(`${url}?p=alice/hello.git;a=${action};h=${second}`, { waitUntil: 'networkidle' })
    t.match(await page.textContent('body'), 'second')
    t.equal(await page.locator('a.commit-status').count(), 0, `links of a ${action} page are not marked`)
  }
})

t.test('gitweb marks repositories in no folder and in deeper ones', { skip: gitwebIsMissing }, async (t) => {
  const { service, placed } = await layouts(t)
  const config = join(t.testdirName, 'gitweb.conf')
  const [recipe = ''] = codeBlocks(chapter('config/pages.md', '## gitweb'), 'perl')
  writeFileSync(config, `our $projectroot = '${service.repositories}';\n${here(recipe, service)}`)
  const url = await startCgi(t, GITWEB, { script: '/gitweb', environment: { GITWEB_CONFIG: config, HOME: '/root' } })
  const page = await (await openWindow(await startBrowser(t))).newPage()
  for (const { path, page: shown } of placed) {
    await git('config', '--file', join(service.repositories, `${path}.git/config`), 'gitweb.owner', 'alice')
    await page.goto(`${url}?p=${encodeURIComponent(path)}.git;a=shortlog`)
    const marks = page.locator('a.commit-status')
    await marks.first().waitFor()
    t.strictSame(await marks.allTextContents(), ['✓'], path)
    t.equal(await marks.first().getAttribute('href'), shown)
  }
})

t.test('The marks know who owns repositories in no folder', async (t) => {
  const { service } = await pagesOf(t, { settings: { topOwner: 'plain' } })
  t.match(await (await fetch(`${service.url}/marks.js`)).text(), 'const topOwner = "plain"')
})
