import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockHolder } from '../../scripts/cli/administration/lock-holder.js'

t.test(
  'Whoever has a store open is told by the list of locks, and nobody by that of another file or system',
  async (t) => {
    const folder = t.testdir({ LOCK: '', list: '' })
    const list = join(folder, 'list')
    const { dev, ino } = statSync(join(folder, 'LOCK'), { bigint: true })
    const device = [((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn), (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)]
      .map((number) => number.toString(16).padStart(2, '0'))
      .join(':')
    const holder = async (...lines: string[]) => {
      writeFileSync(list, lines.map((line) => `${line} 0 EOF\n`).join(''))
      return await lockHolder(folder, list)
    }
    t.equal(
      await holder(
        `1: FLOCK  ADVISORY  WRITE 7 ${device}:${ino}`,
        `2: POSIX  ADVISORY  WRITE 8 ${device}:${ino + 1n}`,
        `3: POSIX  ADVISORY  WRITE 9 ${device}:${ino}`,
      ),
      9,
    )
    t.equal(
      await holder(`1: POSIX  ADVISORY  WRITE 9 ffff:ff:${ino}`, `2: POSIX  ADVISORY  READ 9 ${device}:${ino}`),
      undefined,
    )
    t.equal(await holder(`1: POSIX  ADVISORY  WRITE 0 ${device}:${ino}`), undefined, 'a process of another container')
    t.equal(await lockHolder(folder, join(folder, 'none')), undefined)
  },
)
