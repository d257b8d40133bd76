import t from 'tap'
import { makeCommit } from '../fixtures/git.js'
import { pagesOf, signIn, visit } from '../fixtures/visit.js'

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title><script>alert(1)</script>',
  '&lt;script&gt;',
  '{{7*7}}${7*7}`',
  '\u202Eevil\u202C',
  ']]><!--',
]

/** All that could be markup stands as text: of tags there are those that pages are made of. */
function tagsOf(text: string): string[] {
  return [...new Set([...text.matchAll(/<([a-z!][a-z0-9]*)/gi)].map(([, tag = '']) => tag.toLowerCase()))]
}

const OURS = [
  'b',
  '!doctype',
  'html',
  'head',
  'meta',
  'title',
  'link',
  'body',
  'a',
  'header',
  'nav',
  'span',
  'main',
  'h1',
  'p',
  'div',
  'ul',
  'li',
  'strong',
  'small',
  'time',
  'form',
  'label',
  'input',
  'button',
  'datalist',
  'option',
  'details',
  'summary',
  'bdi',
  'img',
  'pre',
  'code',
  'h2',
  'select',
  'fieldset',
  'legend',
]

t.test('Texts of reports and commits are text, wherever they are shown', async (t) => {
  const { service, home, directory, token } = await pagesOf(t)
  for (const text of HOSTILE) {
    const sha = await makeCommit(directory, text)
    const saved = await service.report('alice/hello', sha, token, {
      state: 'pending',
      context: text,
      description: text,
      target_url: `https://x.example/"onclick=alert(1)/${encodeURI(text)}`,
    })
    t.equal(saved.status, 201)
    for (const path of ['/', home, `${home}/commits/${sha}`, `${home}/commits/${sha}/fragment`]) {
      const page = await visit(service, path)
      t.strictSame(
        tagsOf(page.text).filter((tag) => !OURS.includes(tag)),
        [],
        `${path} ${text}`,
      )
      t.notMatch(page.text, /<[^>]* on[a-z]+=/i)
      t.notMatch(page.text, /javascript:/i)
    }
  }
})

t.test('What comes in an address is text too', async (t) => {
  const { service, home, commit } = await pagesOf(t)
  const cookie = await signIn(service, 'alice')
  for (const text of HOSTILE) {
    const encoded = encodeURIComponent(text)
    for (const path of [
      `/?q=${encoded}`,
      `/?after=${encoded}`,
      `${home}?ref=${encoded}`,
      `${home}?skip=${encoded}`,
      `${commit}?skip=1&reload=${encoded}`,
      `/sign-in?code=${encoded}`,
      `/repos/${encoded}/${encoded}`,
    ]) {
      const { text: page, headers } = await visit(service, path, { cookie })
      t.strictSame(
        tagsOf(page).filter((tag) => !OURS.includes(tag)),
        [],
        path,
      )
      t.equal(headers.get('x-content-type-options'), 'nosniff')
    }
    const badge = await visit(service, `${home}/badge.svg?ref=${encoded}`)
    t.strictSame([badge.status, badge.headers.get('content-type')], [200, 'image/svg+xml; charset=utf-8'])
    t.equal(badge.text, (await visit(service, `${home}/badge.svg?ref=gone`)).text, 'a ref that is gone is not repeated')
  }
})

t.test('A host that somebody makes up is text, and no redirect leads there', async (t) => {
  const { service, commit } = await pagesOf(t)
  const { RawSocket } = await import('../fixtures/raw-socket.js')
  const socket = await RawSocket.open(t, service.url)
  await socket.send(`GET ${commit} HTTP/1.1\r\nHost: "><script>alert(1)</script>\r\nConnection: close\r\n\r\n`)
  t.notMatch(await socket.ended(), '<script>')
  const cookie = await signIn(service, 'alice')
  const out = await visit(service, '/sign-out', {
    form: {},
    cookie,
    headers: { 'X-Forwarded-Host': 'evil.example.com' },
  })
  t.equal(out.headers.get('location'), '/')
})
