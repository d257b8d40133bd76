import fc from 'fast-check'
import t from 'tap'
import {
  isOwnerName,
  isUserName,
  parseEscapedName,
  parseRepositoryName,
  repositoryName,
  type RepositoryName,
} from '../../lib/domain/repository-name.js'

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
  'libstdc++',
  'alice@laptop',
  '~alice',
  '+x',
  '@',
  '=,',
  'a@b',
  'a+b',
  'a~1',
  'a,b',
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
  'a%2Fb',
  'a!b',
  'a$b',
  'a;b',
  "a'b",
  '\u00e9',
  '\uff41',
  '\u0430',
  '\u212a',
  '\u202ea',
  '\ud800',
  `${longest}a`,
  'a'.repeat(300),
]

/** As users they are as good as any. */
const badAsRepository = ['a.git', 'a.lock', 'a.git.git', 'a.lock.git', `${'a'.repeat(96)}.git`]

function nameOf(owner: string, name: string): RepositoryName {
  return { owner, name, full: `${owner}/${name}`, escaped: `${owner}/${name}` }
}

t.test('Owner and repository are each 1 to 100 of A-Z a-z 0-9 . _ - + @ ~ , =', async (t) => {
  for (const name of good) {
    t.ok(isOwnerName(name), name)
    t.strictSame(repositoryName('alice', name), nameOf('alice', name))
    t.strictSame(repositoryName(name, 'hello'), nameOf(name, 'hello'))
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

t.test('No part of a repository ends in .git or .lock', async (t) => {
  for (const name of badAsRepository) {
    t.equal(repositoryName('alice', name), undefined, name)
    t.equal(repositoryName(name, 'hello'), undefined, name)
    t.notOk(isOwnerName(name), name)
    t.ok(isUserName(name), name)
  }
})

t.test('owner/repo is one owner and one repository', async (t) => {
  t.strictSame(parseRepositoryName('alice/hello'), nameOf('alice', 'hello'))
  for (const text of [
    '',
    '/',
    'alice',
    'alice/',
    '/hello',
    'alice//hello',
    'alice/hello/',
    '/alice/hello',
    'alice/../hello',
    'alice/hello/../x',
    'alice/hello//x',
    'alice/hello.git/x',
    'alice/hello/x.lock',
    'alice%2Fhello/x',
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

t.test('In deeper folders, up to eight levels, the rest behind the owner is the repository', async (t) => {
  const deep = { owner: 'team', name: 'sub/deep', full: 'team/sub/deep', escaped: 'team/sub%2Fdeep' }
  t.strictSame(parseRepositoryName('team/sub/deep'), deep)
  t.strictSame(repositoryName('team', 'sub/deep'), deep)
  t.equal(repositoryName('team/sub', 'deep'), undefined)
  t.match(parseRepositoryName('1/2/3/4/5/6/7/8'), { owner: '1', name: '2/3/4/5/6/7/8' })
  t.equal(parseRepositoryName('1/2/3/4/5/6/7/8/9'), undefined)
})

t.test('In keys and addresses it has two parts, from which it is read back', async (t) => {
  for (const full of ['alice/hello', 'team/sub/deep', '~a/b+/c=/@'])
    t.strictSame(parseEscapedName(parseRepositoryName(full)?.escaped ?? ''), parseRepositoryName(full))
  for (const text of [
    'team/sub/deep',
    'team/sub%2fdeep',
    'team%2Fsub/deep',
    'team/%2Fdeep',
    'team/a%2F',
    'team%2Fa',
    '',
  ])
    t.equal(parseEscapedName(text), undefined, text)
})

t.test("A name that is taken stays within its owner's folder, and is like no other", async (t) => {
  const text = fc.string({
    unit: fc.constantFrom(...Array.from('aZ0._-/+@~,=\\%\u0000\n \u00e9')),
    maxLength: 6,
  })
  fc.assert(
    fc.property(text, text, (owner, name) => {
      const taken = repositoryName(owner, name)
      const parsed = parseRepositoryName(`${owner}/${name}`)
      if (!owner.includes('/')) t.strictSame(parsed, taken)
      if (!taken) return
      t.match(taken.full, /^[\w+@~,=][\w.+@~,=-]*(?:\/[\w+@~,=][\w.+@~,=-]*)+$/)
      t.equal(taken.escaped.split('/').length, 2)
      t.strictSame(parseEscapedName(taken.escaped), taken)
    }),
    { numRuns: 1000 },
  )
})
