import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const program = [
  process.execPath,
  ...process.execArgv,
  fileURLToPath(new URL('../fixtures/watched-process.ts', import.meta.url)),
]
const ITEMS = Array.from({ length: 10 }, (_, index) => `item ${index + 1}\n`).join('')

/** Runs the work with standard output read by us, and standard error too or on a terminal. */
async function run(args: string[], onTerminal = ''): Promise<{ stdout: string; stderr: string }> {
  const words = [...program, ...args].map((word) => `'${word}'`).join(' ')
  if (onTerminal === '') return await promisify(execFile)('sh', ['-c', words])
  return await promisify(execFile)('script', ['-qec', `${words} ${onTerminal}`, '/dev/null'])
}

t.test('Without a terminal there is a line every five seconds, and none for quick work', async (t) => {
  t.strictSame(await run(['0.4']), { stdout: `${ITEMS}done\n`, stderr: '' })
  t.strictSame(await run(['3', 'share']), {
    stdout: `${ITEMS}done\n`,
    stderr: [20, 40, 60, 80, 100].map((part) => `commit-status: reading: ${part} %, ${part / 10},000 done\n`).join(''),
  })
  t.match(await run(['3']), { stderr: /^commit-status: reading: 2,000 done\n/ })
})

t.test(
  'On a terminal there is a bar, which is gone at the end; none for quick work, and none between what is printed',
  async (t) => {
    const { stdout: bar } = await run(['1', 'share'], '> /dev/null')
    t.match(bar, '[==============================] reading: 100 %, 10,000 done')
    t.match(bar, /\u001b\[1G\u001b\[2K$/, 'cleared')
    t.notMatch(bar, '\u001b[?7l', 'lines are still wrapped, should Ctrl-C end it before')
    t.equal((await run(['0.01', 'share'], '> /dev/null')).stdout, '')
    const { stdout: unknown } = await run(['1'], '> /dev/null')
    t.match(unknown, 'reading: 10,000 done')
    t.notMatch(unknown, '[=', 'no bar where nobody can tell')
    t.equal((await run(['0.4', 'printing'], '2>&1')).stdout.replaceAll('\r', ''), `${ITEMS}done\n`)
  },
)
