import type { Test } from 'tap'
import { Sessions } from '../../lib/auth/sessions.js'
import type { SignInStore } from '../../lib/contracts/sign-in-store.js'

const MINUTE = 60 * 1000
const HOUR = 60 * MINUTE

/**
 * What links and sessions keep to, wherever they are kept.
 * @param make two ways to one new place, as two instances have them
 */
export function signInSuite(t: Test, make: (t: Test) => Promise<readonly [SignInStore, SignInStore]>): void {
  const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
  const world = async (t: Test) => {
    const [one, other] = await make(t)
    const sessions = [new Sessions(one, clock), new Sessions(other, clock)] as const
    const codeOf = async (user: string) => (await sessions[0].createLink(user)).code
    const sessionOf = async (user: string) => (await sessions[0].open(await codeOf(user)))?.session ?? ''
    return { sessions, codeOf, sessionOf }
  }

  t.test('A link of one instance opens a session on another, which all know', async (t) => {
    const { sessions, codeOf } = await world(t)
    const [one, other] = sessions
    const code = await codeOf('alice')
    t.equal(await other.linkUser(code), 'alice', 'to look at it does not use it up')
    const { user, session = '' } = (await other.open(code)) ?? {}
    t.strictSame(
      [user, (await one.find(session))?.user, (await other.find(session))?.user],
      ['alice', 'alice', 'alice'],
    )
    t.strictSame([await one.linkUser(code), await one.open(code)], [undefined, undefined])
  })

  t.test('A link opens one session, however many open it at the same moment, and wherever', async (t) => {
    const { sessions, codeOf } = await world(t)
    for (let round = 0; round < 10; round++) {
      const code = await codeOf('alice')
      const opened = await Promise.all(
        [0, 1, 2, 3, 4, 5, 6, 7].map((number) => sessions[number % 2 ? 1 : 0].open(code)),
      )
      t.equal(opened.filter((session) => session !== undefined).length, 1)
    }
  })

  t.test('A session that one instance ends is over on every other at once, and so are all of a user', async (t) => {
    const { sessions, codeOf, sessionOf } = await world(t)
    const [one, other] = sessions
    const [first, second, bobs] = [await sessionOf('alice'), await sessionOf('alice'), await sessionOf('bob')]
    const code = await codeOf('alice')
    await other.end(first)
    t.strictSame([(await one.find(first))?.user, (await one.find(second))?.user], [undefined, 'alice'])
    t.equal(await other.endAll('alice'), 2, 'a session and a link')
    t.strictSame([(await one.find(second))?.user, await one.open(code)], [undefined, undefined])
    t.equal((await one.find(bobs))?.user, 'bob')
    t.equal(await other.endAll('alice'), 0)
  })

  t.test('Links are over after ten minutes, sessions after eight hours, and then count no more', async (t) => {
    const { sessions, codeOf, sessionOf } = await world(t)
    const [one, other] = sessions
    const [code, session] = [await codeOf('alice'), await sessionOf('alice')]
    clock.time += 10 * MINUTE
    t.strictSame([await other.open(code), (await other.find(session))?.user], [undefined, 'alice'])
    clock.time += 8 * HOUR
    t.equal((await other.find(session))?.user, undefined)
    t.equal(await one.endAll('alice'), 0)
  })

  t.test('What opens a session is no link, and a link no session; what cannot be one is not looked up', async (t) => {
    const { sessions, codeOf, sessionOf } = await world(t)
    const [one] = sessions
    const [code, session] = [await codeOf('alice'), await sessionOf('alice')]
    t.strictSame(
      [(await one.find(code))?.user, await one.linkUser(session), await one.open(session)],
      Array(3).fill(undefined),
    )
    for (const other of ['', 'x', `${session}x`, 'ä'.repeat(32)]) {
      t.strictSame([(await one.find(other))?.user, await one.open(other)], [undefined, undefined])
      await one.end(other)
    }
    t.equal((await one.find(session))?.user, 'alice')
  })

  t.test('Who asks for many links, or opens many, ends the oldest of his own', async (t) => {
    const { sessions, codeOf, sessionOf } = await world(t)
    const [one] = sessions
    const [bobs, bobsSession] = [await codeOf('bob'), await sessionOf('bob')]
    const codes: string[] = []
    const opened: string[] = []
    for (let count = 0; count < 11; count++) {
      clock.time++
      codes.push(await codeOf('alice'))
    }
    t.strictSame([await one.linkUser(codes[0] ?? ''), await one.linkUser(codes[1] ?? '')], [undefined, 'alice'])
    for (let count = 0; count < 101; count++) {
      clock.time++
      opened.push(await sessionOf('alice'))
    }
    t.strictSame(
      [(await one.find(opened[0] ?? ''))?.user, (await one.find(opened[1] ?? ''))?.user],
      [undefined, 'alice'],
    )
    t.strictSame(
      [await one.linkUser(bobs), (await one.find(bobsSession))?.user],
      ['bob', 'bob'],
      'those of others stay',
    )
  })

  t.test('There are never more than a thousand links altogether: then the oldest ends', async (t) => {
    const { sessions, codeOf } = await world(t)
    const [one] = sessions
    const first = await codeOf('first')
    clock.time++
    const second = await codeOf('second')
    clock.time++
    for (let count = 0; count < 998; count++) await codeOf(`user-${count}`)
    t.equal(await one.linkUser(first), 'first')
    await codeOf('last')
    t.strictSame([await one.linkUser(first), await one.linkUser(second)], [undefined, 'second'])
  })
}
