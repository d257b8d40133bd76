import fc from 'fast-check'
import t from 'tap'
import { isOwnerName, parseRepositoryName, repositoryName } from '../../lib/domain/repository-name.js'

const longest = 'a'.repeat(100)

const good = [
  'a',
  '0',
  '_',
  'hello',
  'Hello-World_2.0',
  'a..b',
  'a.',
  'a-',
  'a--b',
  '__proto__',
  'constructor',
  'con',
  'git',
  'lock',
  'gitlock',
  longest,
]

/** For owners and repositories alike. */
const bad = [
  '',
  '.',
  '..',
  '...',
  '.a',
  '-',
  '-a',
  '--upload-pack=x',
  'a/b',
  '/a',
  'a/',
  'a\\b',
  'a b',
  ' a',
  'a ',
  'a\n',
  '\na',
  'a\u0000',
  'a%2e',
  'a%00',
  'a:b',
  'a*',
  'a?',
  'a#b',
  'a@b',
  'a+b',
  'a~1',
  'a,b',
  '\u00e9',
  '\uff41',
  '\u0430',
  '\u212a',
  '\u202ea',
  '\ud800',
  `${longest}a`,
  'a'.repeat(300),
]

/** As owners they are as good as any. */
const badAsRepository = ['a.git', 'a.lock', 'a.git.git', 'a.lock.git', `${'a'.repeat(96)}.git`]

t.test('Owner and repository are each 1 to 100 of A-Z a-z 0-9 . _ -', async (t) => {
  for (const name of good) {
    t.ok(isOwnerName(name), name)
    t.strictSame(repositoryName('alice', name), { owner: 'alice', name, full: `alice/${name}` })
    t.strictSame(repositoryName(name, 'hello'), { owner: name, name: 'hello', full: `${name}/hello` })
  }
})

t.test('Anything else is simply a repository that does not exist', async (t) => {
  for (const name of bad) {
    t.notOk(isOwnerName(name), JSON.stringify(name))
    t.equal(repositoryName('alice', name), undefined, JSON.stringify(name))
    t.equal(repositoryName(name, 'hello'), undefined, JSON.stringify(name))
    t.equal(parseRepositoryName(`alice/${name}`), undefined, JSON.stringify(name))
  }
})

t.test('A repository does not end in .git or .lock', async (t) => {
  for (const name of badAsRepository) {
    t.equal(repositoryName('alice', name), undefined, name)
    t.ok(isOwnerName(name), name)
  }
})

t.test('owner/repo is one owner and one repository', async (t) => {
  t.strictSame(parseRepositoryName('alice/hello'), { owner: 'alice', name: 'hello', full: 'alice/hello' })
  for (const text of [
    '',
    '/',
    'alice',
    'alice/',
    '/hello',
    'alice//hello',
    'alice/hello/',
    '/alice/hello',
    'alice/hello/x',
    'alice/../hello',
    'alice\\hello',
    'alice/hello.git',
  ]) {
    t.equal(parseRepositoryName(text), undefined, text)
  }
})

t.test('What is no text names no repository', async (t) => {
  for (const value of [undefined, null, 1, {}, ['alice/hello'], new String('alice/hello'), true])
    t.equal(parseRepositoryName(value), undefined)
})

t.test("A name that is taken stays within its owner's folder, whatever it is made of", async (t) => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '0', '.', '_', '-', '/', '\\', '%', '\u0000', '\n', ' ', '\u00e9'),
    maxLength: 6,
  })
  fc.assert(
    fc.property(text, text, (owner, name) => {
      const taken = repositoryName(owner, name)
      const parsed = parseRepositoryName(`${owner}/${name}`)
      t.strictSame(parsed, taken)
      if (taken) t.match(taken.full, /^\w[\w.-]*\/\w[\w.-]*$/)
    }),
    { numRuns: 500 },
  )
})
