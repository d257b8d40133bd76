import t from 'tap'
import { GitProcesses } from '../../lib/git/git-process.js'
import { Tags } from '../../lib/git/tags.js'
import { gitWithInput, makeRepositoryWithCommit } from '../fixtures/git.js'

t.test('Tags of each kind are read, with what annotated ones say', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const made = async (text: string, type = 'commit', object = sha): Promise<string> =>
    await gitWithInput(
      `object ${object}\ntype ${type}\n${text}`,
      '-C',
      directory,
      'hash-object',
      '-wt',
      'tag',
      '--stdin',
    )
  const tagger = 'tagger A U Thor <a@x> 1700000000 +0100'
  const signed = await made(
    `tag s\n${tagger}\n\nGrüße\n\n-----BEGIN PGP SIGNATURE-----\n\nxyz\n-----END PGP SIGNATURE-----\n`,
  )
  const ssh = await made(`tag s\n${tagger}\n\nhello\n-----BEGIN SSH SIGNATURE-----\nxyz\n-----END SSH SIGNATURE-----\n`)
  const nested = await made(`tag n\n${tagger}\n\nof a tag\n`, 'tag', signed)
  const large = await made(`tag l\n${tagger}\n\n${'x'.repeat(300_000)}\n`)
  const nobody = await gitWithInput(
    `object ${sha}\ntype commit\ntag v0\n\nno tagger\n`,
    '-C',
    directory,
    'hash-object',
    '--literally',
    '-wt',
    'tag',
    '--stdin',
  )
  const tags = new Tags(new GitProcesses())
  const refs = [signed, ssh, nested, sha, large, nobody].map((id, index) => ({ name: `refs/tags/v${index}`, id }))
  const author = { name: 'A U Thor', email: 'a@x', seconds: 1_700_000_000 }
  const expected = [
    { message: 'Grüße', tagger: author },
    { message: 'hello', tagger: author },
    { message: 'of a tag', tagger: author },
    undefined,
    undefined,
    { message: 'no tagger', tagger: { name: '', email: '', seconds: 0 } },
  ]
  const read = await tags.read(directory, refs)
  t.strictSame(
    read.map(({ annotation }) => annotation),
    expected,
  )
  t.strictSame(
    read.map(({ object, target }) => [object.type, target.id, target.type]),
    [
      ['tag', sha, 'commit'],
      ['tag', sha, 'commit'],
      ['tag', sha, 'commit'],
      ['commit', sha, 'commit'],
      ['tag', sha, 'commit'],
      ['tag', sha, 'commit'],
    ],
  )
  t.strictSame(await tags.read(directory, []), [])
})
