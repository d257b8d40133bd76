import t from 'tap'
import { CommitContents, parseCommit } from '../../lib/git/commit-content.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { git, gitWithInput, makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'

const read = async (contents: CommitContents, directory: string, id: string) => {
  const [{ content }] = await contents.read(directory, [{ id }])
  return content
}

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`What a commit says is read, of ${format}`, async (t) => {
    const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello', { format })
    const child = await makeCommit(directory, 'Grüße\n\nvon hier')
    const contents = new CommitContents(new GitProcesses())
    const content = await read(contents, directory, child)
    t.match(content, {
      tree: await git('-C', directory, 'rev-parse', 'main^{tree}'),
      parents: [sha],
      author: { name: 'A U Thor', email: 'author@example.com' },
      committer: { name: 'C O Mitter', email: 'committer@example.com' },
      message: 'Grüße\n\nvon hier\n',
    })
    t.ok(Math.abs(content.author.seconds - Date.now() / 1000) < 600)
    t.equal(await read(contents, '/nowhere', child), content, 'remembered')
    const several = await contents.read(directory, [
      { id: sha, name: 'one' },
      { id: child, name: 'two' },
      { id: sha, name: 'three' },
    ])
    t.match(several, [
      { name: 'one', content: { message: 'a commit\n' } },
      { name: 'two', content },
      { name: 'three', content: { parents: [] } },
    ])
    t.strictSame(await contents.read(directory, []), [])
  })
}

t.test('Other encodings and odd commits are read as well as can be', async (t) => {
  const latin = Buffer.from('tree t\nauthor J\xf6rg <j@x> 1 +0000\nencoding ISO-8859-1\n\n\xfc', 'latin1')
  t.match(parseCommit(latin), { author: { name: 'Jörg', email: 'j@x', seconds: 1 }, message: 'ü' })
  const unknown = Buffer.from('author Jörg <j@x>\nencoding klingon\ngpgsig -----BEGIN\n author x\n\nü')
  t.match(parseCommit(unknown), {
    tree: '',
    author: { name: 'Jörg', seconds: 0 },
    committer: { name: '' },
    message: 'ü',
  })
  t.match(parseCommit(Buffer.from('tree t\nauthor nobody')), {
    tree: 't',
    author: { name: '', email: '' },
    message: '',
  })
})

t.test('A commit of more than 256 kB, or none at all, is not read', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
  const large = await gitWithInput('x'.repeat(300_000), '-C', directory, 'commit-tree', tree)
  const contents = new CommitContents(new GitProcesses())
  await t.rejects(read(contents, directory, large), { cause: { message: /has 3\d{5} bytes/ } })
  await t.rejects(read(contents, directory, 'e'.repeat(40)), { cause: { message: /e missing$/ } })
  await t.rejects(read(contents, directory, tree), { cause: { message: /is no commit/ } })
  await t.rejects(read(contents, '/nowhere', tree), { name: 'RepositoryUnreadable' })
})
