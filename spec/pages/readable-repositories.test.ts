import t from 'tap'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { ReadableRepositories } from '../../lib/pages/readable-repositories.js'
import { makeRepository } from '../fixtures/git.js'

t.test('Whoever asks while the folder is read shares the answer', async (t) => {
  const folder = t.testdir()
  await makeRepository(folder, 'alice/hello', { public: true })
  await makeRepository(folder, 'alice/secret')
  const repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  let read = 0
  const list = () => {
    read++
    return repositories.list()
  }
  const readable = new ReadableRepositories(
    list,
    async (user, names) => await Promise.resolve(names.map(() => user === 'alice')),
  )
  const names = async (user?: string) =>
    (await readable.find(user, { text: '', after: '', limit: 5 })).map(({ name }) => name.name)
  t.strictSame(await Promise.all([names(), names('alice'), names('bob')]), [['hello'], ['hello', 'secret'], ['hello']])
  t.equal(read, 1)
})
