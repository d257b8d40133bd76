// The number of a project in GitLab's API is made of its name, so that everybody can tell the number of a private one
// whose name he guesses. Once a number that nobody has made the service read the list of all repositories anew, or was
// refused without any look, and a private one was not: the time told whether there was such a repository. And once a
// number had 31 bits, and was nobody's when two repositories had it. Whoever made one of his own with the number of a
// private one, which takes minutes to find, saw his own go away when the other came, and took the number from it.
import t, { type Test } from 'tap'
import { ServiceError } from '../../lib/errors.js'
import type { CommitStatusOptions } from '../../lib/index.js'
import { projectNumber } from '../../lib/http/compatible/numbers.js'
import { Projects } from '../../lib/http/compatible/projects.js'
import { repositoryName, type RepositoryName } from '../../lib/domain/repository-name.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { repositoryNamed } from '../fixtures/names.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'

const HIDDEN = 'alice/hidden'

/** Two names with one number, found among 45 million in three minutes. */
const SECRET = 'bob/secret-867911'
const TWIN = 'mallory/m27228514'
const NUMBER = 173_100_696_368_684

function notFound(): never {
  throw new ServiceError('repository_not_found')
}

t.test('The list of repositories is read for a number that is known as for one that is not', async (t) => {
  let read = 0
  const names = [repositoryName('alice', 'hidden')].filter((name) => name !== undefined)
  const projects = new Projects(
    async () => {
      read++
      return await Promise.resolve(names)
    },
    { milliseconds: 0 },
  )
  for (const [index, name] of [HIDDEN, HIDDEN, 'alice/absent', HIDDEN, 'alice/absent'].entries()) {
    await t.rejects(async () => await projects.find(String(projectNumber(name)), notFound))
    t.equal(read, index + 1, name)
  }
})

t.test('Who asks by a number is known although the list of repositories cannot be read', async (t) => {
  const projects = new Projects(async () => await Promise.reject(new Error('unreadable')))
  t.strictSame(await projects.mayMean('1'), [])
  await t.rejects(async () => await projects.find('1', notFound), { message: 'unreadable' })
})

t.test('The rights that are found with who asks are on as many names for every number', async (t) => {
  const projects = new Projects(async () => await Promise.resolve([repositoryNamed(HIDDEN)]))
  const namesOf = async (id: number) => [(await projects.mayMean(String(id))) ?? []].flat()
  const [hidden, none] = [await namesOf(projectNumber(HIDDEN)), await namesOf(1)]
  t.strictSame([hidden.length, hidden[0]?.full, none.length], [2, HIDDEN, 2])
})

// A deeper one takes more looks than one in the folder of its owner, and one at the top takes others.
t.test('A number that nobody has is looked up in every layout that repositories have', async (t) => {
  const names = [HIDDEN, 'team/sub/deep', 'git/flat'].map(repositoryNamed)
  for (const list of [async () => await Promise.resolve(names), async () => await Promise.resolve([])]) {
    const projects = new Projects(list, { topOwner: 'git' })
    for (const name of names) projects.numberOf(name)
    const looksFor = async (name: string) => {
      const looks: number[] = []
      const lookAt = ({ full }: RepositoryName) => {
        looks.push(full.startsWith('git/') ? 1 : full.split('/').length)
        return notFound()
      }
      await t.rejects(async () => await projects.find(String(projectNumber(name)), lookAt), { name: 'ServiceError' })
      return looks
    }
    for (const { full } of [...names, repositoryNamed('alice/absent'), repositoryNamed('team/sub/absent')])
      t.strictSame((await looksFor(full)).sort(), [1, 1, 2, 2, 3, 3], full)
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
    const response = await fetch(`${url}/api/v4/projects/${projectNumber(name)}`, { headers })
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

t.test('The names with one number do have one', (t) => {
  t.strictSame([projectNumber(SECRET), projectNumber(TWIN)], [NUMBER, NUMBER])
  t.end()
})

for (const kind of ['public', 'private'] as const) {
  t.test(`A ${kind} repository with the number of a private one does not tell whether that is there`, async (t) => {
    const answersWith = async (...names: string[]) => {
      const { ask } = await serveFolder(t, names, kind === 'public' ? [TWIN] : [])
      const users = [undefined, 'mallory', 'carol']
      const asked = users.map(async (user) => {
        const { status, body } = await ask(`/projects/${NUMBER}`, user)
        // Each service has a folder of its own, made at a time of its own.
        return { status, body: { ...body, created_at: '', last_activity_at: '' }, path: body['path_with_namespace'] }
      })
      return await Promise.all(asked)
    }
    const answers = await answersWith(TWIN, SECRET)
    t.strictSame(await answersWith(TWIN), answers)
    const expected = kind === 'public' ? [200, 200, 200] : [401, 200, 404]
    t.strictSame(
      answers.map(({ status }) => status),
      expected,
    )
    t.equal(answers[1]?.path, TWIN)
    t.strictSame(
      (await answersWith()).map(({ status }) => status),
      [401, 404, 404],
      'and without either there is none',
    )
  })
}

t.test('Nor does it take a number from whom it belongs to: reports arrive, and where they should', async (t) => {
  const { ask, report, shas } = await serveFolder(t, [TWIN, SECRET], [TWIN])
  t.equal((await ask(`/projects/${NUMBER}`, 'bob')).body['path_with_namespace'], SECRET)
  t.equal((await report(NUMBER, String(shas[SECRET]), 'bob')).status, 201)
  t.equal((await report(NUMBER, String(shas[TWIN]), 'mallory')).status, 201)
  t.equal((await report(NUMBER, String(shas[SECRET]), 'mallory')).status, 404)
  for (const [name, user] of [
    [SECRET, 'bob'],
    [TWIN, 'mallory'],
  ] as const) {
    const path = `/projects/${encodeURIComponent(name)}/repository/commits/${String(shas[name])}/statuses`
    t.match(await ask(path, user), { status: 200, body: [{ author: { username: user } }] })
  }
})

t.test('A number that stands for two which one may read is refused, and their names are not', async (t) => {
  const { ask } = await serveFolder(t, [TWIN, SECRET], [TWIN, SECRET])
  t.match(await ask(`/projects/${NUMBER}`, 'carol'), { status: 404, body: { message: '404 Project Not Found' } })
  t.equal((await ask(`/projects/${NUMBER}`)).status, 404)
  t.equal(
    (await ask(`/projects/${NUMBER}`, 'bob')).body['path_with_namespace'],
    SECRET,
    'who may write to one means it',
  )
  t.equal((await ask(`/projects/${encodeURIComponent(TWIN)}`, 'carol')).status, 200)
  t.equal((await ask(`/projects/${NUMBER}00`, 'bob')).status, 404, 'a number that none can have')
})

t.test('Of repositories that cannot be listed, each keeps its number when others with it were shown', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), SECRET)
  const host = async (...names: string[]) => {
    const state = { looks: 0, isBroken: false }
    const find = async ({ full }: RepositoryName) => {
      state.looks++
      if (state.isBroken) throw new Error('the disk is gone')
      return await Promise.resolve(names.includes(full) ? { directory, public: full === TWIN } : undefined)
    }
    const { ask } = await serve(t, { repositories: { find } })
    for (const name of [...names, ...names]) {
      const { body } = await ask(`/projects/${encodeURIComponent(name)}`, name.split('/')[0])
      t.equal(body['id'], NUMBER)
    }
    const numbered = async (user: string) => {
      state.looks = 0
      const { status, body } = await ask(`/projects/${NUMBER}`, user)
      return { status, name: body['path_with_namespace'], looks: state.looks }
    }
    return { state, numbered }
  }
  const both = await host(TWIN, SECRET)
  t.match(await both.numbered('bob'), { status: 200, name: SECRET })
  const seen = await both.numbered('carol')
  t.match(seen, { status: 200, name: TWIN })
  t.strictSame(await (await host(TWIN)).numbered('carol'), seen, 'with as many looks as where there is one')

  both.state.isBroken = true
  t.strictSame((await both.numbered('carol')).status, 404)
  t.equal((await both.numbered('bob')).status, 503, 'what is wrong is told to those who have a right')
})

/** A service of a host that takes the name of a user for a token, and GitLab's calls to it. */
async function serve(t: Test, options: Partial<CommitStatusOptions>) {
  const authenticate = async (token: string) => await Promise.resolve({ user: token, scopes: ['repo'] })
  const { service, repositories } = await embed(t, {
    compatibleApis: ['gitlab'],
    publicUrl: 'https://status.example.com',
    authenticator: { authenticate },
    ...options,
  })
  const url = await listen(t, service.handler)
  const call = async (method: string, path: string, user?: string, body?: object) => {
    const { status, body: answered } = await fetchJson(`${url}/api/v4${path}`, {
      method,
      ...(body && { body }),
      ...(user !== undefined && { token: user }),
    })
    return { status, body: answered }
  }
  return {
    repositories,
    ask: async (path: string, user?: string) => await call('GET', path, user),
    report: async (id: number, sha: string, user: string) =>
      await call('POST', `/projects/${id}/statuses/${sha}`, user, { state: 'success' }),
  }
}

/** The same over a folder of repositories, each with a commit of its own. */
async function serveFolder(t: Test, names: readonly string[], open: readonly string[]) {
  const served = await serve(t, {})
  const shas: Record<string, string> = {}
  for (const name of names) {
    const isPublic = open.includes(name)
    const { directory } = await makeRepositoryWithCommit(served.repositories, name, { public: isPublic })
    shas[name] = await makeCommit(directory, `a commit of ${name}`)
  }
  return { ...served, shas }
}
