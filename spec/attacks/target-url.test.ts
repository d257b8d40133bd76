// Links that do something else than lead to a web page, or lead elsewhere than a reader thinks: stored XSS by
// `javascript:` and `data:`, and URLs that one parser repairs and another takes for something else. Past victims:
// GitLab
// and Gitea commit statuses and link fields, and every allow-list that looked for a prefix.
import t from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'
import { storeFiles } from '../fixtures/store-files.js'

/** Another scheme than http or https, or none. */
const SCHEMES = [
  'javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'javascript://example.com/%0aalert(1)',
  'javascript:https://example.com/', 'java\nscript:alert(1)', 'java\tscript:alert(1)', '\x01javascript:alert(1)',
  '&#106;avascript:alert(1)', 'jаvascript:alert(1)', 'javascript%3aalert(1)',
  'data:text/html,<script>alert(1)</script>', 'data:text/html;base64,PHNjcmlwdD4=', 'vbscript:msgbox(1)',
  'file:///etc/passwd', 'file://example.com/share', 'ftp://example.com/', 'ws://example.com/',
  'blob:https://example.com/1', 'filesystem:https://example.com/', 'view-source:https://example.com/', 'about:blank',
  'chrome://settings', 'intent://example.com#Intent;scheme=https;end', 'mailto:a@example.com', 'ssh://git@example.com/',
  'httpx://example.com/', 'https+x://example.com/', 'xhttps://example.com/', 'http-equiv://example.com/',
  'htt\u0440s://example.com/', 'ｈttps://example.com/', 'http\u017f://example.com/', 'http\u1e9b://example.com/',
] // prettier-ignore

/** No absolute URL with a host: some programs repair these, each in its own way. */
const BROKEN = [
  '', 'example.com', '/path', '//example.com/', '?query', '#fragment', 'http', 'http:', 'https:', 'http:/', 'http://',
  'https://', 'http:example.com', 'https:example.com/', 'http:/example.com/', 'http:///example.com/',
  'https:////example.com/',
  'http:\\\\example.com\\', 'https:\\example.com', 'https:/\\example.com/', 'https://\\example.com/',
  'https://example.com\\@evil.example/',
  'https://evil.example\\.example.com/', 'https:\\/\\/example.com',
  'https://@', 'https://@/', 'https://user@/', 'https://user:pass@', 'https://:443/', 'https://:@:443/', 'https://?',
  'https://#', 'https:///@example.com/', 'https://javascript:alert(1)@',
  'https://example.com:99999/', 'https://example.com:port/', 'https://example.com:-1/', 'https://[::1', 'https://::1/',
  'https://[v1.x]/', 'https://[::1%25eth0]/', 'https://256.256.256.256/', 'https://0x100000000/',
  'https://exa%2fmple.com/', 'https://exa%00mple.com/', 'https://%20/', 'https://<script>/', 'https://exa|mple.com/',
  'https://exa^mple.com/', 'https://%zz/', 'https://example.com%23@evil.example:x/',
] // prettier-ignore

/** White space and control characters, of ASCII and of the rest of Unicode, some of which parsers drop in silence. */
const INVISIBLE = [
  0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b, 0x1f, 0x20, 0x7f, 0x80, 0x85, 0x9f, 0xa0, 0x1680, 0x2000,
  0x2003, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff,
  0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
].map((code) => String.fromCodePoint(code)) // prettier-ignore

/** Odd, but what it says: an http or https URL with a host. */
const ACCEPTED = [
  'http://example.com', 'https://example.com/', 'HTTPS://EXAMPLE.COM/Path', 'hTtP://example.com',
  'https://example.com?javascript:alert(1)', 'https://example.com#javascript:alert(1)', 'https://javascript/',
  'https://javascript:80/',
  'https://example.com/%0d%0aSet-Cookie:%20a=b', 'https://example.com/<script>alert(1)</script>',
  'https://example.com/"onclick="alert(1)', "https://example.com/'", 'https://example.com/../../x',
  'https://example.com/a\\b',
  'https://user@example.com/', 'https://user:pass@example.com/', 'https://good.example@evil.example/',
  'https://good.example:443@evil.example/', 'https://good.example%2F@evil.example/', 'https://a:b@c:d@evil.example/',
  'https://[::1]/', 'https://[::ffff:127.0.0.1]:8080/', 'https://127.1/', 'https://0x7f000001/', 'https://localhost/',
  'https://example.com./', 'https://例え.example/パス', 'https://xn--r8jz45g.example/', 'https://example.com:/',
  'https://example.com:0/', 'https://example.com//javascript:alert(1)',
] // prettier-ignore

/** In ASCII: some of these characters would break the lines of the test's own report. */
function inAscii(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => `U+${character.codePointAt(0)?.toString(16)}`)
}

t.test(
  'Any other scheme than http and https gives 422, and what is no absolute URL with a host does too',
  async (t) => {
    const { service, sha, ...hosted } = await hostCommit(t)
    const inserted = INVISIBLE.flatMap((character) => [
      `${character}https://example.com/`,
      `ht${character}tps://example.com/`,
      `https:${character}//example.com/`,
      `https://exa${character}mple.com/`,
      `https://example.com/a${character}b`,
      `https://example.com/${character}`,
    ])
    const odd = ['https://example.com/\ud800', '\udc00https://example.com/']
    for (const target_url of [...SCHEMES, ...BROKEN, ...inserted, ...odd]) {
      refused(
        t,
        await hosted.report({ state: 'success', context: 'attack', target_url }),
        422,
        /^target_url must /,
        inAscii(target_url),
      )
    }
    t.strictSame(await hosted.stored(), [], 'nothing was stored')
    t.notOk(storeFiles(service.store).includes('attack'))
    t.notMatch(JSON.stringify(service.log), /alert|example/, 'nothing of it is in the log')
    t.equal((await hosted.report({ state: 'success' })).status, 201, 'the service still answers')
    t.equal((await service.list('alice/hello', sha)).body['state'], 'success')
  },
)

t.test(
  'An http or https URL with a host, in any letter case of the scheme, is stored and returned as it was sent',
  async (t) => {
    const hosted = await hostCommit(t)
    for (const target_url of ACCEPTED) {
      const answer = await hosted.report({ state: 'success', target_url })
      t.match(answer, { status: 201, body: { target_url } }, inAscii(target_url))
      t.equal((await hosted.stored())[0]?.target_url, target_url)
    }
    const { headers } = await hosted.list()
    t.equal(headers.get('content-type'), 'application/json; charset=utf-8', 'no browser takes the answer for a page')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
  },
)
