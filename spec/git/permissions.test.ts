import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { repositoryName, type RepositoryName } from '../../lib/domain/repository-name.js'
import { formats, objectId, unknownId } from '../fixtures/finder.js'
import { git, makeCommit } from '../fixtures/git.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { asNobody, isNotRoot } from '../fixtures/nobody.js'

const forbid = (path: string): void => chmodSync(path, 0o700)
const forbidFile = (path: string): void => chmodSync(path, 0o600)

/** What nobody may read, and whether the packed and the loose commit can be confirmed nevertheless. */
const cases: Record<string, { forbid: (directory: string, loose: string) => void; packed: boolean; loose: boolean }> = {
  'its folder': { forbid: (directory) => forbid(directory), packed: false, loose: false },
  'its config': { forbid: (directory) => forbidFile(join(directory, 'config')), packed: false, loose: false },
  'its objects': { forbid: (directory) => forbid(join(directory, 'objects')), packed: false, loose: false },
  'its packs': { forbid: (directory) => forbid(join(directory, 'objects/pack')), packed: false, loose: false },
  'the contents of its packs': { forbid: (directory) => forbidAll(directory, '.pack'), packed: false, loose: true },
  'the indexes of its packs': { forbid: (directory) => forbidAll(directory, '.idx'), packed: false, loose: true },
}

function forbidAll(directory: string, ending: string): void {
  const packs = join(directory, 'objects/pack')
  for (const file of readdirSync(packs)) if (file.endsWith(ending)) forbidFile(join(packs, file))
}

/** A folder that everybody can reach, as the checkout may be closed to nobody. */
function openFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'commit-status-'))
  chmodSync(folder, 0o755)
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  return folder
}

for (const format of formats) {
  t.test(
    `What the service may not read is refused, never missing, format ${format}`,
    { skip: isNotRoot },
    async (t) => {
      const folder = openFolder(t)
      const original = await makeRepositoryWithHistory(folder, 'alice/original', { format })
      await git('-C', original.directory, 'repack', '-adq')
      const loose = await makeCommit(original.directory, 'loose', 'loose')
      const [packed = ''] = original.commits
      const unknown = unknownId(format)
      await asNobody(
        async () =>
          await ask(t, 'nothing is forbidden', original.directory, { [packed]: true, [loose]: true, [unknown]: false }),
      )
      for (const [what, each] of Object.entries(cases)) {
        const directory = join(folder, 'alice/copy.git')
        cpSync(original.directory, directory, { recursive: true })
        each.forbid(directory, loose)
        await asNobody(
          async () =>
            await ask(t, what, directory, {
              [packed]: each.packed || undefined,
              [loose]: each.loose || undefined,
              [unknown]: undefined,
            }),
        )
        rmSync(directory, { recursive: true })
      }
      forbid(join(original.directory, 'objects', loose.slice(0, 2)))
      await asNobody(
        async () =>
          await ask(t, 'the folder of the loose commit', original.directory, {
            [packed]: true,
            [loose]: undefined,
            [unknown]: false,
          }),
      )
    },
  )
}

/** `undefined` is what cannot be told. */
async function ask(
  t: Test,
  what: string,
  directory: string,
  answers: Record<string, boolean | undefined>,
): Promise<void> {
  const finder = new CommitFinder()
  for (const [id, answer] of Object.entries(answers)) {
    if (answer === undefined) await t.rejects(finder.has(directory, objectId(id)), RepositoryUnreadable, what)
    else t.equal(await finder.has(directory, objectId(id)), answer, what)
  }
  finder.close()
}

t.test('What the service may not look into cannot be looked up, and is not missing', { skip: isNotRoot }, async (t) => {
  const folder = openFolder(t)
  for (const repository of ['alice/hello', 'bob/hello']) {
    const { directory } = await makeRepositoryWithHistory(folder, repository)
    chmodSync(directory, 0o755)
  }
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  const [alice, bob] = ['alice', 'bob'].map((owner) => repositoryName(owner, 'hello')) as [
    RepositoryName,
    RepositoryName,
  ]
  forbid(join(folder, 'alice'))
  forbid(join(folder, 'bob/hello.git'))
  await asNobody(async () => {
    await t.rejects(async () => await repositories.find(alice), { code: 'EACCES' })
    t.match(
      await repositories.find(bob),
      { directory: join(folder, 'bob/hello.git'), public: false },
      'a mark that cannot be seen makes nothing public',
    )
    await t.rejects(repositories.setPublic(bob, true), { code: 'EACCES' })
    await t.rejects(repositories.list().next(), { code: 'EACCES' })
  })
  t.match(await repositories.find(bob), { directory: join(folder, 'bob/hello.git'), public: false })
})
