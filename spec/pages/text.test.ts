import t from 'tap'
import { dayText, durationText, timeText } from '../../lib/pages/html/text.js'

t.test('A time is shown in UTC, to the minute; what is none is not shown', (t) => {
  t.equal(timeText('2026-01-31T23:30:59+01:00').toString(), '<time>2026-01-31 22:30</time> UTC')
  t.equal(timeText(''), '', 'git tells no time of a commit whose time is none')
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
