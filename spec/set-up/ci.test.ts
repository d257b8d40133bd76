import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const script = fileURLToPath(new URL('../../.ci/run', import.meta.url))

interface Run {
  readonly output?: string
  readonly code?: number
  readonly args?: readonly string[]
  readonly trial?: string
}

/**
 * Runs .ci/run with an `npm test` that prints this and exits so, one on another Node or PostgreSQL that is well, and a
 * package whose trial prints that.
 */
function runWith(t: Test, { output = '', code = 0, args = [], trial = '' }: Run) {
  const folder = t.testdir({
    bin: {
      npm:
        `#!/bin/sh\ncase "$*" in *--node=*|*--postgres=*) echo '# { total: 3, pass: 3 }';; ` +
        `'run package') : > package;; 'run package:try -- bookworm') cat trial package;; ` +
        `*) cat output; exit ${code};; esac\n`,
      // Nothing is to be installed.
      'dpkg-query': '#!/bin/sh\necho installed\n',
    },
    output,
    trial,
  })
  mkdirSync(join(folder, '.ci'))
  copyFileSync(script, join(folder, '.ci/run'))
  const { status, stdout } = spawnSync('bash', ['-c', 'chmod +x bin/*; exec bash .ci/run "$@"', 'bash', ...args], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
    encoding: 'utf8',
  })
  return { status, stdout, last: stdout.trimEnd().split('\n').at(-1) }
}

t.test('The last line counts what passed and failed, of all runs together', async (t) => {
  t.match(runWith(t, { output: 'ok 1 - fine\n# { total: 12, pass: 12 }\n' }), {
    status: 0,
    last: '18 passed, 0 failed',
  })
  t.match(runWith(t, { output: '# { total: 12, pass: 11, fail: 1 }\n', code: 1 }), {
    status: 1,
    last: '11 passed, 1 failed',
  })
})

t.test('What fails outside of a test counts as one', async (t) => {
  t.match(runWith(t, { code: 2 }), { status: 2, last: '0 passed, 1 failed' })
  t.match(runWith(t, { output: '# { total: 12, pass: 12 }\n', code: 1 }), { status: 1, last: '12 passed, 1 failed' })
})

t.test('A test that is skipped fails the run', async (t) => {
  const { status, last, stdout } = runWith(t, {
    output:
      'ok 1 - one # SKIP strace cannot be used here\n    ok 1 - two # SKIP PostgreSQL is not installed\n' +
      '# { total: 12, pass: 10, skip: 2 }\n',
  })
  t.strictSame([status, last], [1, '16 passed, 2 failed'])
  t.match(stdout, /skipped, though .*:\nok 1 - one # SKIP strace cannot be used here\n {4}ok 1 - two # SKIP /)
})

t.test('Unless the list says why it may be', async (t) => {
  const output = 'ok 1 - one # SKIP there is no IPv6 here\n# { total: 12, pass: 11, skip: 1 }\n'
  t.match(runWith(t, { output }), { status: 0, last: '17 passed, 0 failed' })
})

t.test('With --package the package is made and tried, too', async (t) => {
  const output = '# { total: 12, pass: 12 }\n'
  const args = ['--package']
  const well = 'ok 1 - one\n# { total: 1, pass: 1 }\n'
  t.match(runWith(t, { output, trial: well }), { status: 0, last: '18 passed, 0 failed' })
  t.match(runWith(t, { output, args, trial: well }), { status: 0, last: '19 passed, 0 failed' })
  t.match(runWith(t, { output, args, trial: 'not ok 1 - one\n# { total: 1, fail: 1 }\n' }), {
    last: '18 passed, 1 failed',
  })
  const skipped = 'ok 1 - one # SKIP mmdebstrap cannot be used here\n'
  t.match(runWith(t, { output, args, trial: skipped }), { status: 0, last: '18 passed, 0 failed' })
})
