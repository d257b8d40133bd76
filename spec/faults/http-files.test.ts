// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'
import { missing } from '../fixtures/program.js'
import { within } from '../fixtures/within.js'
import { isLong, record } from './fault.js'

/** More than the modules that are read at once when it starts. */
const FILES = 128
const CYCLES = isLong ? 30 : 3

t.test(
  'More connections than the system has files for: the service lives, and serves again as soon as there are some',
  { skip: await missing('util-linux') },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const service = await place.serve(t, { program: ['prlimit', `--nofile=${FILES}:${FILES}`, executable] })
    const ended = once(service.child, 'close')
    for (let cycle = 1; cycle <= CYCLES; cycle++) {
      const sockets = Array.from({ length: 4 * FILES }, () =>
        connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => undefined),
      )
      await Promise.all(
        sockets.map(
          async (socket) => await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined),
        ),
      )
      for (const socket of sockets) socket.destroy()
      const serves = async () => (await fetch(`${service.url}/healthz`).catch(() => undefined))?.status === 200
      t.ok(await Promise.race([within(10_000, serves), ended.then(() => false)]))
    }
    t.match(await service.end('SIGTERM'), { status: 0 })
    record(t, 'more connections than files', { injected: CYCLES, acknowledged: CYCLES })
  },
)
