// Programs that tell rights, real ones: those that do, and those that do anything else.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callCommand } from '../../lib/auth/rights-command.js'
import { until } from '../fixtures/within.js'

const QUESTIONS = ['hello\talice', 'secret\talice', 'hello\tbob']

/** What a program of `sh` makes of the questions. */
async function ask(script: string, { questions = QUESTIONS, milliseconds = 60_000 } = {}) {
  const call = callCommand(['sh', '-c', script, 'rights', 'R'], questions, milliseconds)
  const answers = await call.answers
  await call.gone
  return answers
}

t.test('It answers each line with a third column', async (t) => {
  const answers = await ask('while read -r line; do printf "%s\\t%s any\\n" "$line" "$1"; done')
  t.strictSame(
    [...answers],
    [
      ['hello\talice', 'R any'],
      ['secret\talice', 'R any'],
      ['hello\tbob', 'R any'],
    ],
  )
  const reordered = await ask('sort -r | sed "s/$/\tDENIED\tby it/"')
  t.strictSame(Object.fromEntries(reordered), Object.fromEntries(QUESTIONS.map((line) => [line, 'DENIED\tby it'])))
})

t.test('As many questions as there may be are answered, whichever way the bytes come', async (t) => {
  const questions = Array.from({ length: 4096 }, (_, index) => `team/${'deep/'.repeat(10)}repository-${index}\talice`)
  t.equal((await ask('sed "s/$/\trefs/"', { questions })).size, 4096)
  const slowly = 'while read -r line; do printf "%s" "$line"; printf "\tre"; printf "fs\\n"; done'
  t.equal((await ask(slowly)).size, QUESTIONS.length)
})

t.test('What is left behind does not hold up the answers', async (t) => {
  const answer = 'sed "s/$/\trefs/"'
  t.equal((await ask(`sleep 600 & ${answer}`)).size, 3, 'in its group: it is killed')
  const marker = join(t.testdir(), 'marker')
  const started = `while [ ! -e ${marker} ]; do sleep 0.01; done`
  const outside = `setsid sh -c "touch ${marker}; exec sleep 5" & ${started}; ${answer}`
  t.equal((await ask(outside)).size, 3, 'outside of it, and it holds the output open')
})

t.test('Whatever else it does, the call fails, and says why', async (t) => {
  const answer = 'sed "s/$/\trefs/"'
  for (const [script, reason] of [
    [`${answer}; echo no such luck >&2; exit 3`, 'it ended with 3: no such luck'],
    [`${answer}; kill -9 $$`, /^it ended with SIGKILL/],
    ['true', 'it left 3 of 3 questions without an answer'],
    ['exec <&-; true', 'it left 3 of 3 questions without an answer'],
    [`head -n 2 | ${answer}`, 'it left 1 of 3 questions without an answer'],
    [`${answer}; printf "\\n"`, 'it printed ""'],
    [`${answer}; printf "hello\tcarol\trefs\\n"`, 'it printed "hello\\tcarol\\trefs"'],
    [`${answer}; printf "hello\talice\trefs\\n"`, 'it printed "hello\\talice\\trefs"'],
    ['sed "s/alice/carol/; s/$/\trefs/"', 'it printed "hello\\tcarol\\trefs"'],
    ['cat', 'it printed "hello\\talice"'],
    ['sed "s/$/\t/"', 'it printed "hello\\talice\\t"'],
    [`${answer} | head -c -1`, 'it printed a line without an end'],
    ['yes', 'it printed too much'],
    ['tr "a-z\t" "\\200-\\231\\377"', /^it printed "/],
  ] as const)
    await t.rejects(ask(script), { message: reason }, script)
})

t.test('What it says on standard error is bounded', async (t) => {
  const failure = await ask('yes no | head -c 1000000 >&2; exit 1').catch((error: unknown) => error)
  t.ok(failure instanceof Error && failure.message.length < 1100)
})

t.test('One that hangs is ended, with all that it has started', async (t) => {
  const pids = join(t.testdir(), 'pids')
  for (const script of ['sleep 600', 'sleep 600 & wait', 'while :; do printf "hello\talice\tre"; sleep 0.05; done']) {
    const started = `echo $$ > ${pids}; sleep 600 & echo $! >> ${pids}; ${script}`
    await t.rejects(ask(started, { milliseconds: 500 }), { message: 'it took longer than 500 ms' })
    for (const pid of readFileSync(pids, 'utf8').trim().split('\n')) await until(() => !isRunning(pid))
  }
})

t.test('One that is not there, or no program, is no right', async (t) => {
  const file = join(t.testdir({ file: '' }), 'file')
  writeFileSync(file, 'text', { mode: 0o644 })
  for (const program of ['/no/such/program', file]) {
    const { answers, gone, end } = callCommand([program, '{access}'], QUESTIONS, 60_000)
    end('nothing is there to end')
    await t.rejects(answers, { message: /^it cannot be run: spawn/ })
    await gone
  }
})

t.test('Names are lines of the input, and nothing else', async (t) => {
  const marker = join(t.testdir(), 'marker')
  const questions = [`$(touch ${marker})\t;touch ${marker}`, '--help\t-x', '%\t%', '\u{1f600}\té']
  const answers = await ask('sed "s/$/\t$# $*/"', { questions })
  t.strictSame([...answers.keys()], questions)
  t.strictSame(new Set(answers.values()), new Set(['1 R']))
  t.notOk(existsSync(marker))
})

t.test('A call can be ended', async (t) => {
  const { answers, gone, end } = callCommand(['sleep', '600'], QUESTIONS, 60_000)
  end('the service is closed')
  await t.rejects(answers, { message: 'the service is closed' })
  await gone
})

/** Whether there is such a process, and it is more than what nobody has waited for yet. */
function isRunning(pid: string): boolean {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/^.*\) Z /.test(readFileSync(stat, 'utf8'))
}
