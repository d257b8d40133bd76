import t from 'tap'
import { Semaphore } from '../../lib/concurrency/semaphore.js'

t.test(
  'So many are let through at a time; others wait in line, and those it has no place for are refused',
  async (t) => {
    const gate = new Semaphore(2, 1)
    const through: string[] = []
    const enter = async (name: string): Promise<void> => {
      await gate.enter()
      through.push(name)
    }
    await Promise.all([enter('a'), enter('b')])
    const waiting = enter('c')
    await t.rejects(enter('d'), { name: 'StoreOverloaded' })
    t.strictSame(through, ['a', 'b'])
    gate.leave()
    await waiting
    gate.leave()
    await enter('e')
    t.strictSame(through, ['a', 'b', 'c', 'e'])
    await t.rejects(Promise.all([enter('f'), enter('g')]), { name: 'StoreOverloaded' })
  },
)
