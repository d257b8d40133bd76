import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AxeBuilder } from '@axe-core/playwright'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import { browserIsMissing, openWindow, startBrowser } from '../fixtures/browser.js'
import { git, makeCommit } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'
import { startService } from '../fixtures/service.js'
import { pagesOf } from '../fixtures/visit.js'

t.setTimeout(120_000)

/** How people look at the same pages. */
const WINDOWS: Readonly<Record<string, BrowserContextOptions>> = {
  'a large window': {},
  'a phone, in the dark': { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
}

/** What has the focus, by its text and its label. */
const FOCUSED =
  '[document.activeElement, ...(document.activeElement.labels ?? [])].map((each) => each.textContent).join(" ")'

/** To the next thing of this name that the keyboard reaches. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate<string>(FOCUSED)
    if (name.test(text)) return
  }
  throw new Error(`the keyboard does not reach ${String(name)}`)
}

t.test(
  "A person's way by keyboard alone: from an empty service to a green page",
  { skip: await missing('chromium', 'curl') },
  async (t) => {
    const service = await startService(t)
    const page = await (await openWindow(await startBrowser(t))).newPage()
    await page.goto(service.url)
    t.match(await page.locator('main').textContent(), 'Make the first one')
    const [init = '', push = ''] = (await page.locator('pre').textContent())?.split('\n') ?? []
    const checkout = join(t.testdirName, 'checkout')
    await git('init', '--quiet', '--initial-branch=main', checkout)
    await git('-C', checkout, 'commit', '--quiet', '--allow-empty', '-m', 'The first')
    const shell = async (line: string) =>
      (await promisify(execFile)('sh', ['-euc', line], { cwd: checkout })).stdout.trim()
    await shell(`${init} >/dev/null 2>&1; ${push} 2>&1`)

    await page.goto((await service.admin.createSignIn('alice')).url)
    await tabTo(page, /^Sign in as alice/)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'alice/hello' }).waitFor()
    await tabTo(page, /^Tokens/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your tokens' }).waitFor()
    await tabTo(page, /Name/)
    await page.keyboard.type('my laptop')
    await tabTo(page, /^Make the token/)
    await page.keyboard.press('Enter')
    const token = await page.locator('.token').textContent()
    const curl = await page.locator('pre').nth(1).textContent()
    t.ok(curl?.includes(token ?? '-'))
    t.match(await shell(`${(curl ?? '').replace('OWNER/REPO', 'alice/hello')} --silent`), '"state":"success"')
    await tabTo(page, /^Commit statuses/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Repositories' }).waitFor()
    await tabTo(page, /^alice\/hello/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'alice/hello' }).waitFor()
    await tabTo(page, /^The first/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'The first' }).waitFor()
    t.match(await page.title(), '✓ success: The first')
    await tabTo(page, /^Sign out/)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    t.equal((await page.goto(`${service.url}/repos/alice/hello`))?.status(), 404)
  },
)

t.test('A page with something pending shows its end by itself', { skip: browserIsMissing }, async (t) => {
  const { service, commit, report } = await pagesOf(t)
  await report({ state: 'pending' })
  const page = await (await openWindow(await startBrowser(t), { javaScriptEnabled: false })).newPage()
  await page.goto(service.url + commit)
  await report({ state: 'success' })
  await page.locator('.top .success').waitFor({ timeout: 30_000 })
  t.equal(await page.getByText('Stop reloading').count(), 0)
})

for (const [name, options] of Object.entries(WINDOWS)) {
  t.test(`Everybody can read every page: ${name}`, { skip: browserIsMissing }, async (t) => {
    const { service, home, commit, directory, report } = await pagesOf(t)
    await report({
      state: 'success',
      context: 'build',
      description: 'x'.repeat(300),
      target_url: 'https://x.example/1',
    })
    await report({ state: 'pending', context: 'test' })
    await report({ state: 'error', context: 'lint', target_url: 'https://x.example/2' })
    await makeCommit(directory, `A long subject ${'without-a-place-to-break'.repeat(6)}`)
    const window = await openWindow(await startBrowser(t), options)
    const page = await window.newPage()
    const problems: string[] = []
    page.on('console', (message) => problems.push(message.text()))
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url)) problems.push(request.url())
    })
    const check = async (what: string): Promise<void> => {
      const { violations } = await new AxeBuilder({ page }).analyze()
      t.strictSame(
        violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
        [],
        what,
      )
      const width = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
      t.ok(width <= 0, `${what} is not wider than the window`)
    }
    const link = await service.admin.createSignIn('alice')
    for (const path of ['/', home, commit, '/sign-in', '/settings/tokens', '/repos/x/y', '/?q=none', link.url]) {
      await page.goto(new URL(path, service.url).href)
      await check(path)
    }
    await page.getByRole('button', { name: 'Sign in as alice' }).click()
    const hook = { on: 'alice/hello', url: 'https://ci.example/x', format: 'github', secret: 'x'.repeat(16) }
    const { id } = await service.admin.createHook({ ...hook, contexts: ['without-a-place-to-break'.repeat(9)] })
    await service.admin.pauseHook(id)
    await service.admin.createHook({ ...hook, on: '*', url: `https://${'long-name.'.repeat(9)}example/` })
    await page.goto(service.url + home)
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('paused').waitFor()
    await check('webhooks')
    await page.goto(`${service.url}/settings/tokens`)
    await page.getByLabel(/^Name/).fill('ci')
    await page.getByRole('button', { name: 'Make the token' }).click()
    await check('the token')
    await page.goto(`${service.url}/settings/tokens`)
    await check('tokens')
    await page.getByRole('link', { name: 'Revoke ci' }).click()
    await check('the question')
    await page.getByRole('button', { name: 'Revoke it' }).click()
    t.equal(await page.getByText('ci', { exact: true }).count(), 0)
    t.strictSame(
      problems.filter((text) => !/status of 40[14]/.test(text)),
      [],
      'nothing is refused, and nothing loaded from elsewhere',
    )
  })
}

t.test(
  'On a phone nothing touches what is below it, and no line ends in a dot',
  { skip: browserIsMissing },
  async (t) => {
    const { service, commit } = await pagesOf(t)
    const page = await (await openWindow(await startBrowser(t), { viewport: { width: 360, height: 740 } })).newPage()
    await page.goto(service.url + commit)
    const [state, text] = await Promise.all([
      page.locator('.top').boundingBox(),
      page.locator('.top + p').boundingBox(),
    ])
    t.ok((text?.y ?? 0) - (state?.y ?? 0) - (state?.height ?? 0) >= 8)
    t.notMatch(await page.locator('h1 + p').innerText(), /·\s*[0-9a-f]{40}/)
  },
)

t.test(
  'Header and content have one left edge, and on a phone a row is a sign beside its text',
  { skip: browserIsMissing },
  async (t) => {
    const { service, home, report } = await pagesOf(t)
    await report({ state: 'success' })
    const browser = await startBrowser(t)
    for (const width of [390, 1280]) {
      const page = await (await openWindow(browser, { viewport: { width, height: 800 } })).newPage()
      await page.goto(service.url + home)
      const [site, heading, you, state, subject, row] = await Promise.all(
        ['.site', 'h1', '.you', '.log .state', '.log a', '.log li'].map(
          async (selector) => await page.locator(selector).first().boundingBox(),
        ),
      )
      t.ok(Math.abs((site?.x ?? 0) - (heading?.x ?? 99)) < 1, `one edge at ${width}`)
      t.ok(Math.abs((site?.y ?? 0) - (you?.y ?? 99)) < 8, 'who signs in is beside it')
      t.ok(Math.abs((state?.y ?? 0) - (subject?.y ?? 99)) < 8, 'the state is beside the subject')
      if (width === 390) t.strictSame([state?.width, state?.height, (row?.height ?? 99) < 72], [24, 24, true])
    }
  },
)

t.test('Everything works without JavaScript', { skip: browserIsMissing }, async (t) => {
  const { service, home } = await pagesOf(t)
  const page = await (await openWindow(await startBrowser(t), { javaScriptEnabled: false })).newPage()
  await page.goto((await service.admin.createSignIn('alice')).url)
  await page.getByRole('button', { name: 'Sign in as alice' }).click()
  await page.getByLabel('Search by name').fill('hello')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('link', { name: 'alice/hello' }).click()
  await page.waitForURL(service.url + home)
  await page.getByText('Badge', { exact: true }).click()
  await page.getByRole('img').waitFor()
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByLabel(/^Name/).fill('without a script')
  await page.getByRole('button', { name: 'Make the token' }).click()
  t.match(await page.locator('.token').textContent(), /^cst_/)
})
