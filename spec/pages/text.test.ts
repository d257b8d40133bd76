import t from 'tap'
import { dayText, durationText, lastingText, timeText } from '../../lib/pages/html/text.js'

const now = Date.parse('2026-01-31T22:33:00Z')

t.test('A time is said as people do, with the exact one in UTC beside; what is none is not shown', (t) => {
  t.equal(
    timeText('2026-01-31T23:30:59+01:00', now).toString(),
    '<time datetime="2026-01-31T22:30Z" title="2026-01-31 22:30 UTC">2 minutes ago</time>',
  )
  t.equal(timeText('', now), '', 'git tells no time of a commit whose time is none')
  t.match(timeText(`+275760-09-13T00:00:00.000Z`, now).toString(), 'in 273,735 years')
  t.end()
})

t.test('It is told in the unit that git takes for it', (t) => {
  const [hour, day] = [3600, 86_400]
  const times: [seconds: number, text: string][] = [
    [59, 'just now'],
    [60, 'in 1 minute'],
    [30 * day, 'in 4 weeks'],
    [90 * day, 'in 3 months'],
    [365 * day, 'in 12 months'],
    [0, 'just now'],
    [-29, 'just now'],
    [-31, '1 minute ago'],
    [-89 * 60, '89 minutes ago'],
    [-90 * 60, '2 hours ago'],
    [-35 * hour, '35 hours ago'],
    [-36 * hour, '2 days ago'],
    [-13 * day, '13 days ago'],
    [-14 * day, '2 weeks ago'],
    [-71 * day, '2 months ago'],
    [-740 * day, '2 years ago'],
  ]
  for (const [seconds, text] of times) {
    const shown = timeText(new Date(now + seconds * 1000).toISOString(), now).toString()
    t.equal(shown.replaceAll(/<[^>]*>/g, ''), text)
  }
  t.end()
})

t.test('What goes on is told with how long it has lasted', (t) => {
  const of = (seconds: number) => lastingText(new Date(now - seconds * 1000).toISOString(), now).toString()
  t.match(of(300), />5 minutes</)
  for (const seconds of [5, -59]) t.match(of(seconds), />less than a minute</)
  t.equal(of(-60), '')
  t.equal(lastingText('noon', now), '')
  t.end()
})

t.test('What is known to the hour is shown as a day', (t) => {
  t.equal(dayText('2026-01-31T12:00:00.000Z').toString(), '<time>2026-01-31</time>')
  t.end()
})

t.test('A length of time has its two largest units', (t) => {
  const lengths: [seconds: number, text: string][] = [
    [-1, '0 s'],
    [59, '59 s'],
    [60, '1 min 0 s'],
    [3599, '59 min 59 s'],
    [3600, '1 h 0 min'],
    [86_399, '23 h 59 min'],
    [86_400, '1 d 0 h'],
    [31 * 86_400 + 7_200, '31 d 2 h'],
  ]
  for (const [seconds, text] of lengths) t.equal(durationText(seconds * 1000), text)
  t.end()
})
