// Trojan source, on pages: a control of the writing direction in a context, a description, a subject or an author's
// name turned the words behind it round, so that a row, a title of a window or a page of cgit said something else than
// what was reported; words from right to left did so by themselves where numbers follow. Past victims: GitHub's and
// GitLab's views of sources, file names in mail programs, and every list with names of others in it (CVE-2021-42574).
import t from 'tap'
import type { Page } from 'playwright-core'
import { browserIsMissing, openWindow, startBrowser } from '../fixtures/browser.js'
import { gitWithInput, git } from '../fixtures/git.js'
import { pagesOf, signIn, visit } from '../fixtures/visit.js'

t.setTimeout(120_000)

/** Overrides and isolates of the writing direction that nobody ends, one that ends another's, other controls. */
const CONTROLS = ['\u202e', '\u202b\u202e', '\u2067\u202e', '\u2069\u202e', '\u001b[7m\u202e', '\u0085\u2029\u202e']

/** Any of them, and what else has no place where people read. */
const STEERING = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u

/** From right to left by itself. */
const HEBREW = '\u05e9\u05dc\u05d5\u05dd'

/** Where each of these words begins, from the left, in what a selector finds. */
async function placesOf(page: Page, selector: string, words: readonly string[]): Promise<number[]> {
  return await page.evaluate<number[]>(`(() => {
    const root = document.querySelector(${JSON.stringify(selector)});
    return ${JSON.stringify(words)}.map((word) => {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const start = texts.currentNode.data.indexOf(word);
        if (start === -1) continue;
        const range = document.createRange();
        range.setStart(texts.currentNode, start);
        range.setEnd(texts.currentNode, start + word.length);
        return range.getBoundingClientRect().left;
      }
      throw new Error('there is no ' + word);
    });
  })()`)
}

t.test(
  'The words of a row stay in their order, whatever is in the texts of others',
  { skip: browserIsMissing },
  async (t) => {
    const { service, home, directory, sha: first, token } = await pagesOf(t)
    const page = await (await openWindow(await startBrowser(t))).newPage()
    const ordered = async (path: string, selector: string, words: readonly string[]) => {
      await page.goto(service.url + path)
      const places = await placesOf(page, selector, words)
      const isOrdered = places.every((place, index) => index === 0 || place > (places[index - 1] ?? Infinity))
      t.ok(isOrdered, `${encodeURI(path)} ${selector}: ${places.join()}`)
    }
    const branch = '\u202eabc'
    await git('-C', directory, 'update-ref', `refs/heads/${branch}`, first)
    await git('-C', directory, 'symbolic-ref', 'HEAD', `refs/heads/${branch}`)
    await ordered('/', '.rows .when', ['abc', '·'])
    for (const [index, text] of [...CONTROLS.map((controls) => `${controls}abc`), HEBREW].entries()) {
      const word = text === HEBREW ? HEBREW : 'abc'
      const sha = await commitBy(directory, `b${index}`, text)
      const report = {
        state: 'failure',
        context: text,
        description: `${text} 2 of 3`,
        target_url: 'https://x.example/',
      }
      t.equal((await service.report('alice/hello', sha, token, report)).status, 201)
      const commit = `${home}/commits/${sha}`
      await ordered(`${home}?ref=b${index}`, '.log small', [word, sha.slice(0, 10), 'years ago'])
      await ordered(commit, '.facts', [word, 'years ago', first.slice(0, 7)])
      t.notMatch(await page.title(), STEERING)
      await ordered(commit, '.rows .what', [word, 'Details'])
      await ordered(`${commit}/fragment`, 'li', ['failure', word, '2 of 3'])
    }
  },
)

t.test('No control of others stands in a page, a title, a badge or a piece of another page', async (t) => {
  const { service, home, directory, token } = await pagesOf(t)
  const cookie = await signIn(service, 'alice')
  for (const [index, controls] of CONTROLS.entries()) {
    const text = `a${controls}b`
    // No branch has what is taken out here.
    const branch = `${index}${text.replaceAll(/\u001b\[|[\u0085\u2029]/g, '')}`
    const sha = await commitBy(directory, branch, text)
    if (index === 0) await git('-C', directory, 'symbolic-ref', 'HEAD', `refs/heads/${branch}`)
    const report = { state: 'error', context: text, description: text, target_url: 'https://x.example/' }
    t.equal((await service.report('alice/hello', sha, token, report)).status, 201)
    await service.admin.createToken({ user: 'alice', name: branch, scopes: ['repo'], expiresAt: null })
    const [named, encoded] = [encodeURIComponent(branch), encodeURIComponent(text)]
    for (const path of [
      '/',
      `/?q=${encoded}`,
      `${home}?ref=${named}`,
      `${home}/commits/${sha}`,
      `${home}/commits/${sha}/fragment`,
      `${home}/badge.svg?ref=${named}&context=${encoded}`,
      '/settings/tokens',
    ]) {
      const { status, text: page } = await visit(service, path, { cookie })
      t.equal(status, 200, path)
      // What a form is filled with is sent as it is, and stands in a field of its own.
      t.notMatch(page.replaceAll(/ value="[^"]*"/g, ''), STEERING, path)
    }
  }
  const plain = 'two\twords, \u{1f469}\u200d\u{1f4bb} and \u05e9\u05dc\u05d5\u05dd'
  const sha = await commitBy(directory, 'plain', plain)
  t.match(
    (await visit(service, `${home}/commits/${sha}`)).text,
    `<h1><bdi>${plain}</bdi></h1>`,
    'the rest is as it was',
  )
})

/** Makes a commit on a new branch, whose author and subject are this text; resolves to its id. */
async function commitBy(directory: string, branch: string, text: string): Promise<string> {
  const author = `author ${text} <x@x> 1600000000 +0000\ncommitter x <x@x> 1800000000 +0000\n`
  const commit = `commit refs/heads/${branch}\n${author}data <<END\n${text}\nEND\nfrom refs/heads/main^0\n`
  await gitWithInput(commit, '-C', directory, 'fast-import', '--quiet')
  return await git('-C', directory, 'rev-parse', branch)
}
