// Where people go back to after they have signed in comes with the address of the page, and lies in a cookie, which a
// neighbour in the same domain may set. Whoever writes it would send people, freshly signed in, to a page of his own
// that looks like ours. Only what is the address of a page of ours, in the very way we write it, is gone back to.
import t from 'tap'
import { returnPath } from '../../lib/pages/context.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

const hostile = [
  'https://evil.example',
  'https:evil.example',
  'javascript:alert(1)',
  '//evil.example',
  '///evil.example',
  '//evil.example/repos/a/b',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '\t//evil.example',
  '\n//evil.example',
  ' //evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/%2e%2e//evil.example',
  '/repos/..//evil.example',
  '/repos/../..//evil.example',
  '/repos/%2e%2e//evil.example',
  '/repos/a/..\\..\\evil.example',
  '.evil.example',
  '@evil.example',
  ':80@evil.example/',
  'repos/a/b',
  '/repos/a/b\r\nSet-Cookie: x=y',
  '/repos/a/ü',
  '/repos/a/\u202e',
  '/api/v1/repos',
  '/sign-out',
  '/sign-in?return=/',
  '/elsewhere',
  '/reposx/',
  `/repos/a/b?${'x'.repeat(1000)}`,
  '',
]

for (const publicUrl of ['', 'https://ci.example.com/status']) {
  t.test(`Nobody is sent elsewhere after signing in, by an address or by a cookie: ${publicUrl}`, async (t) => {
    const service = await startService(t, { settings: { publicUrl } })
    const base = publicUrl === '' ? '' : '/status'
    const open = async (cookie?: string) => {
      const code = new URL((await service.admin.createSignIn('alice')).url).searchParams.get('code') ?? ''
      return await visit(service, '/sign-in', { form: { code }, ...(cookie !== undefined && { cookie }) })
    }
    const cookieOf = (page: string) => `commit-status-return=${Buffer.from(page).toString('base64url')}`
    const asked = async (page: string) =>
      (await visit(service, `/sign-in?${new URLSearchParams({ return: page }).toString()}`)).headers.get('set-cookie')
    const others = base === '' ? [] : ['/repos/a/b', '/statusx/repos/a/b', '/status', '/status//evil.example']
    for (const page of new Set([...hostile, ...hostile.map((path) => base + path), ...others])) {
      t.equal(await asked(page), null, JSON.stringify(page))
      t.equal((await open(cookieOf(page))).headers.get('location'), `${base}/`, JSON.stringify(page))
    }
    const good = `${base}/repos/a/b?ref=%2F%2Fevil.example&x=//evil.example`
    const [cookie = ''] = (await asked(good))?.split(';') ?? []
    t.equal(cookie, cookieOf(good))
    const { headers } = await open(cookie)
    t.equal(headers.get('location'), good)
    t.match(headers.getSetCookie().at(-1), /^commit-status-return=; .*Max-Age=0$/, 'once')
    t.equal((await open(`${cookie}; ${cookieOf(`${base}/repos/x/y`)}`)).headers.get('location'), `${base}/`)
    t.equal((await open('commit-status-return=%%%')).headers.get('location'), `${base}/`)
  })
}

t.test('What is gone back to is on the same host, whatever stands before it', (t) => {
  const parts = [
    '/',
    '//',
    '\\',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '@',
    ':',
    'repos',
    'evil.example',
    '?',
    '#',
    '\t',
    ' ',
  ]
  let taken = 0
  for (const one of parts)
    for (const two of parts)
      for (const three of parts)
        for (const four of parts) {
          const address = returnPath('', one + two + three + four)
          if (address === undefined) continue
          taken++
          const url = new URL(address, 'https://ci.example.com/sign-in')
          if (url.origin !== 'https://ci.example.com' || !/^\/(?:$|repos\/|settings\/)/.test(url.pathname))
            t.fail(address)
        }
  t.ok(taken > 0, `${taken} of ${parts.length ** 4}`)
  t.end()
})
