// The number of a project in GitLab's API is made of its name, so that everybody can tell the number of a private one
// whose name he guesses. Once a number that nobody has made the service read the list of all repositories anew, or was
// refused without any look, and a private one was not: the time told whether there was such a repository.
import t from 'tap'
import { nameNumber } from '../../lib/http/compatible/numbers.js'
import { Projects } from '../../lib/http/compatible/projects.js'
import { repositoryName, type RepositoryName } from '../../lib/repository-name.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

const HIDDEN = 'alice/hidden'

t.test('The list of repositories is read for a number that is known as for one that is not', async (t) => {
  let read = 0
  const names = [repositoryName('alice', 'hidden')].filter((name) => name !== undefined)
  const projects = new Projects(async () => {
    read++
    return await Promise.resolve(names)
  }, 0)
  for (const [index, name] of [HIDDEN, HIDDEN, 'alice/absent', HIDDEN, 'alice/absent'].entries()) {
    await projects.find(String(nameNumber(name)))
    t.equal(read, index + 1, name)
  }
})

t.test('A number that nobody has is looked up as that of a private project, and refused as it is', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), HIDDEN)
  const looks: string[] = []
  const find = async ({ full }: RepositoryName, only?: 'public') => {
    looks.push(`look ${String(only)}`)
    return await Promise.resolve(full === HIDDEN && only !== 'public' ? { directory, public: false } : undefined)
  }
  const access = async (user: string) => {
    looks.push('right')
    return await Promise.resolve(user === 'alice' ? ('write' as const) : ('none' as const))
  }
  const authenticate = async (token: string) => await Promise.resolve({ user: token, scopes: ['repo'] })
  const { service } = await embed(t, {
    compatibleApis: ['gitlab'],
    repositories: { find },
    accessPolicy: { access },
    authenticator: { authenticate },
  })
  const url = await listen(t, service.handler)
  const ask = async (name: string, user?: string) => {
    looks.length = 0
    const headers = user === undefined ? {} : { 'PRIVATE-TOKEN': user }
    const response = await fetch(`${url}/api/v4/projects/${nameNumber(name)}`, { headers })
    return { status: response.status, text: await response.text(), looks: [...looks] }
  }
  // Now it is one of those that were shown.
  const shown = await fetch(`${url}/api/v4/projects/alice%2Fhidden`, { headers: { 'PRIVATE-TOKEN': 'alice' } })
  t.equal(shown.status, 200)
  t.equal((await ask(HIDDEN, 'alice')).status, 200)
  for (const user of [undefined, 'bob']) {
    const answer = await ask(HIDDEN, user)
    t.equal(answer.status, user === undefined ? 401 : 404)
    t.strictSame(await ask('alice/absent', user), answer)
  }
})
