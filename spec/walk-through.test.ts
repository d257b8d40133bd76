import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { CommandPlace, executable } from './fixtures/command.js'
import { chapter, codeBlocks } from './fixtures/page.js'
import { missing } from './fixtures/program.js'

const blocks = codeBlocks(chapter('README.md', '## Try it'), 'sh')

const noCurl = await missing('curl')

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`The README's walk-through works as it is pasted (${format})`, { skip: noCurl }, async (t) => {
    const place = new CommandPlace(t.testdir())
    const { url } = await place.serve(t)
    const clone = mkdtempSync(join(tmpdir(), 'hello-'))
    t.teardown(() => rmSync(clone, { recursive: true }))
    const pasted = blocks
      .join('')
      .replaceAll('$PWD/data/repositories', place.repositories)
      .replaceAll('data/repositories', place.repositories)
      .replaceAll('/tmp/hello', join(clone, 'hello'))
      .replaceAll('scripts/commit-status', executable)
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll(format === 'sha1' ? ' --object-format=sha256' : /$^/g, '')
    t.notMatch(pasted, /8080|data\//)
    // Each answer of curl on a line of its own.
    const script = pasted.replaceAll(/^curl .*$/gm, '$&; echo')
    const variables = [
      `PATH=${process.env['PATH'] ?? ''}`,
      'HOME=/nonexistent',
      `COMMIT_STATUS_REPOSITORIES=${place.repositories}`,
      `COMMIT_STATUS_STORE=level:${place.store}`,
    ]
    const { stdout, stderr } = await promisify(execFile)('env', ['-i', ...variables, 'bash', '-euc', script])
    t.notMatch(stderr, /^hint: /m, 'git has nothing to add')
    const answers = stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const final = {
      context: 'build',
      state: 'success',
      description: '42 tests',
      target_url: 'https://ci.example.com/1',
    }
    t.match(answers, [
      { state: 'pending', context: 'build' },
      { state: 'pending', statuses: [{ state: 'pending' }] },
      final,
      { state: 'success', statuses: [final] },
      { state: 'success', statuses: [final] },
    ])
    t.equal(String(answers[0]?.['sha']).length, format === 'sha1' ? 40 : 64)
  })
}
