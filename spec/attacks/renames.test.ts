// Who asks for a repository while it is renamed. Of 102,836 anonymous reports during `repo rename` 4 were answered 404
// in place of 401, and a user who may only read got 404 in place of 403: so a stranger learned that the name was there,
// or had been. The answer of a check that has failed stands, whatever happens to the repository.
import t from 'tap'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import type { Repositories } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

/** A look-up that ends when the test lets it. */
class HeldRepositories implements Repositories {
  readonly #repositories: RepositoryFolder
  #held: (() => void)[] = []
  /** Told of each look-up that begins while they are held. */
  onHeld: (() => void) | undefined

  constructor(folder: string) {
    this.#repositories = new RepositoryFolder(folder, { topOwner: 'git' })
  }

  find: Repositories['find'] = async (...asked) => {
    const found = await this.#repositories.find(...asked)
    if (this.onHeld)
      await new Promise<void>((resolve) => {
        this.#held.push(resolve)
        this.onHeld?.()
      })
    return found
  }

  letGo(): void {
    this.onHeld = undefined
    for (const resolve of this.#held.splice(0)) resolve()
  }
}

for (const change of ['rename', 'delete'] as const) {
  t.test(`A report that is refused during a ${change} gets the answer of the check that refused it`, async (t) => {
    const folder = t.testdir({})
    const repositories = new HeldRepositories(folder)
    const { service, tokenOf } = await embed(t, { repositories })
    const { sha } = await makeRepositoryWithCommit(folder, 'alice/hello')
    await service.administration.grantAccess('alice/hello', 'bob', 'read')
    const base = await listen(t, (request, response) => service.handler(request, response))
    const tokens = { bob: await tokenOf('bob'), alice: await tokenOf('alice') }
    const report = async (path: string, token?: string) => {
      const { status, body } = await fetchJson(`${base}/api/v1/repos/alice/hello/statuses/${path}`, {
        method: 'POST',
        body: { state: 'success' },
        ...(token !== undefined && { token }),
      })
      return [status, body['error']]
    }
    const all = async () =>
      await Promise.all([report(sha), report(sha, tokens.bob), report('HEAD', tokens.alice), report(sha, tokens.alice)])
    let begun = 0
    const allBegun = new Promise<void>((resolve) => {
      repositories.onHeld = () => {
        if (++begun === 4) resolve()
      }
    })
    const answers = all()
    await allBegun
    if (change === 'rename') await service.renameRepository('alice/hello', 'alice/world')
    else await service.deleteRepository('alice/hello')
    repositories.letGo()
    const [anonymous, reader, malformed, owner] = await answers
    t.strictSame(anonymous, [401, 'authentication required'])
    t.strictSame(reader, [403, 'write access to the repository is required'])
    t.strictSame(malformed, [422, 'sha must be a full 40 or 64 character hex commit id'])
    t.strictSame(owner, [404, 'repository not found'], 'nothing is saved under the old name')
    t.strictSame((await service.list('alice/hello', sha)).statuses, [])
  })
}
