import t from 'tap'
import { chatLine, textLines, textOf } from '../../lib/webhooks/texts.js'
import { branchDelivery, pingDelivery, push, pushDelivery, status, statusDelivery } from '../fixtures/deliveries.js'
import { repositoryNamed } from '../fixtures/names.js'

const PAGES = 'https://status.example.com'
const SHA = 'a'.repeat(40)
const PAGE = `${PAGES}/repos/alice/hello/commits/${SHA}`

const chat = (...of: Parameters<typeof statusDelivery>) => chatLine(textOf(statusDelivery(...of), PAGES))
const text = (...of: Parameters<typeof statusDelivery>) => textLines(textOf(statusDelivery(...of), PAGES))

/** The line of a chat for a text of a reporter. */
const described = (description: string) => chat({ status: status({ description }) }).split(' – ')[1]

t.test('A chat is told of a status in one line', async (t) => {
  t.equal(chat(), '✗ alice/hello aaaaaaaa on main: ci/test failed – 3 of 42 tests <https://ci.example.com/1>')
  t.equal(
    chat({ status: status({ state: 'success', description: null, target_url: null }), branches: [] }),
    `✓ alice/hello aaaaaaaa: ci/test succeeded <${PAGE}>`,
  )
  t.match(chat({ status: status({ state: 'error' }) }), /^✗ .* ended with an error – /)
  t.match(chat({ status: status({ state: 'pending', description: ' ' }) }), /^… .* ci\/test is pending <https/)
  t.match(chat({ branches: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }), / on a, b, c, d, e and 2 more: /)
})

t.test('A text has a line for each part', async (t) => {
  t.equal(text(), '✗ alice/hello aaaaaaaa on main: ci/test failed\n3 of 42 tests\nhttps://ci.example.com/1')
  t.equal(
    text({ status: status({ description: null, target_url: null }) }),
    `✗ alice/hello aaaaaaaa on main: ci/test failed\n${PAGE}`,
  )
  t.equal(text({ status: status({ description: 'a <b> & @all' }) }).split('\n')[1], 'a <b> & @all', 'as it was said')
})

t.test('A branch is broken by what failed, and fixed by a commit', async (t) => {
  const person = { name: 'A U Thor', email: 'author@example.com', seconds: 0 }
  const commit = { tree: '', parents: [], author: person, committer: person, message: 'Say hello\n\nat last\n' }
  const broken = branchDelivery({ commit, statuses: [status(), status({ context: 'ci/lint' })] })
  t.equal(
    chatLine(textOf(broken, PAGES)),
    `✗ alice/hello main is broken at aaaaaaaa: ci/test, ci/lint failed – Say hello (A U Thor) <${PAGE}>`,
  )
  t.equal(
    textLines(textOf(branchDelivery({ event: 'fixed' }), PAGES)),
    `✓ alice/hello main is fixed at aaaaaaaa\n${PAGE}`,
  )
})

t.test('A push is told in one line, with its last commit', async (t) => {
  const said = (...of: Parameters<typeof pushDelivery>) => chatLine(textOf(pushDelivery(...of), PAGES))
  const tail = ` – Say hello (A U Thor) <${PAGE}>`
  t.equal(said(), `↑ alice/hello: alice pushed main from bbbbbbbb to aaaaaaaa, 1 commit${tail}`)
  t.equal(
    said({ forced: true, total: 21 }),
    `↑ alice/hello: alice forced main from bbbbbbbb to aaaaaaaa, 21 commits${tail}`,
  )
  const zeros = '0'.repeat(40)
  const none = { commits: [], total: 0 }
  t.equal(
    said({ push: push({ before: zeros, ref: 'refs/tags/v1', pusher: '@here' }), ...none }),
    `↑ alice/hello: @\u200bhere made the tag v1 at aaaaaaaa${tail}`,
  )
  const { head: _, ...gone } = pushDelivery({ push: push({ after: zeros, ref: 'refs/heads/x/y' }), ...none })
  t.equal(chatLine(textOf(gone, PAGES)), '↑ alice/hello: alice deleted x/y, which was at bbbbbbbb')
})

t.test('A ping says which hook it is of', async (t) => {
  const said = textOf(pingDelivery({ on: 'alice/*' }), PAGES)
  t.equal(chatLine(said), '✓ commit-status reaches you: hook h1 on alice/*')
  t.equal(textLines(said), '✓ commit-status reaches you: hook h1 on alice/*')
})

t.test('Nobody is mentioned by what a reporter says', async (t) => {
  const everybody = ['@everyone', '@here', '@channel', '@all', '@room', '@alice', '@alice:example.org', 'x@channel']
  for (const mention of everybody) t.notMatch(described(`see ${mention}`), /@[\w]/, mention)
  for (const mention of ['<!channel>', '<!here|here>', '<@U012AB3CD>', '<@&1>', '<#C1>', '<https://x.example|log in>'])
    t.notMatch(described(mention), /<[^h]|&lt;[!@#\w]/, mention)
  t.equal(described('a < b & c > d'), 'a &lt;\u200b b &amp; c &gt; d <https://ci.example.com/1>')
  const line = chat({
    repository: repositoryNamed('team/@here'),
    status: status({ context: '@all <!channel>', target_url: 'https://ci.example.com/@all|<!here>?@room#@x' }),
    branches: ['@channel'],
  })
  t.notMatch(line, /@\w|<!/)
  t.match(line, /<https:\/\/ci\.example\.com\/%40all%7C%3C!here%3E\?%40room#%40x>$/)
})

t.test('Nothing is a link or a picture under other words, nor another line', async (t) => {
  t.notMatch(described('![](https://x.example/pixel.png) [log in](https://x.example)'), /\]\(/)
  t.match(described('one\ntwo\r\n\tthree\u2028four'), /^one two three four </)
  t.equal(text({ status: status({ description: 'one\n\u202Etwo\u0007' }) }).split('\n')[1], 'one \ufffdtwo\ufffd')
  t.match(text({ status: status({ context: 'a\nb' }) }), /: a b failed\n/)
})

t.test('A line fits into a chat whatever its parts are', async (t) => {
  const long = status({
    context: 'c'.repeat(255),
    description: '😀'.repeat(1024),
    target_url: `https://ci.example.com/${'x'.repeat(2000)}`,
  })
  const line = chat({ status: long, branches: Array.from({ length: 10 }, (_, index) => `b${index}`) })
  t.ok(line.length < 2000)
  t.match(line, /😀…$/, 'without an address of that length')
  const branches = Array.from({ length: 5 }, (_, index) => String(index).repeat(240))
  const target_url = `https://ci.example.com/${'x'.repeat(500)}`
  for (const [character, whole] of [
    ['<', /(?:&lt;\u200b)+(?:&lt;)?…/],
    ['&', /(?:&amp;)+…/],
    ['@', /(?:@\u200b)+@?…/],
    ['😀', /(?:😀)+…/u],
  ] as const)
    for (let more = 0; more < 8; more++) {
      const description = 'x'.repeat(more) + character.repeat(300 - more)
      const said = chat({ status: status({ description, target_url }), branches })
      t.ok(said.length <= 2000, `${said.length}`)
      t.match(said, new RegExp(`– x{${more}}${whole.source} <https://ci.example.com/x+>$`, 'u'))
    }
  t.match(chat({ status: status({ target_url: `https://ci.example.com/${'x'.repeat(500)}` }) }), /x>$/)
})

t.test('An address has no user in a chat', async (t) => {
  const line = chat({ status: status({ target_url: 'https://alice:secret@ci.example.com:8443/1' }) })
  t.match(line, /<https:\/\/ci\.example\.com:8443\/1>$/)
})
