import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { ConfirmedCommits } from '../../lib/git/confirmed-commits.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { parseObjectId, type ObjectId } from '../../lib/domain/object-id.js'
import type { Repository } from '../../lib/contracts/repositories.js'
import { makeCommit, makeRepository } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'

interface Counted {
  readonly folder: RepositoryFolder
  readonly directory: string
  readonly commit: ObjectId
  readonly confirmed: ConfirmedCommits
  /** How often libgit2 was asked. */
  lookUps: number
}

/** A repository with a commit, looked at through a real finder that counts. */
async function counted(t: Test): Promise<Counted> {
  const root = t.testdir({})
  const directory = await makeRepository(root, 'alice/hello')
  const commit = parseObjectId(await makeCommit(directory)) ?? commitId('0')
  const finder = new CommitFinder({ comparesIdentities: true })
  t.teardown(() => finder.close())
  const state: Counted = {
    folder: new RepositoryFolder(root, { topOwner: 'git' }),
    directory,
    commit,
    lookUps: 0,
    confirmed: new ConfirmedCommits({
      has: async (...args) => {
        state.lookUps++
        return await finder.has(...args)
      },
      forget: () => finder.forget(),
      close: () => finder.close(),
    }),
  }
  return state
}

async function found({ folder }: Counted): Promise<Repository> {
  const repository = await folder.find(repositoryNamed('alice/hello'))
  if (!repository) throw new Error('the repository is gone')
  return repository
}

t.test('A commit that was confirmed is not looked up again', async (t) => {
  const place = await counted(t)
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  t.equal(place.confirmed.has(await found(place), place.commit), true, 'and at hand: no promise')
  t.equal(place.lookUps, 1)
})

t.test('One that is not there is looked up each time: a push is seen at once', async (t) => {
  const place = await counted(t)
  const repository = await found(place)
  const unknown = commitId('c0ffee')
  t.equal(await place.confirmed.has(repository, unknown), false)
  t.equal(await place.confirmed.has(repository, unknown), false)
  t.equal(place.lookUps, 2)
  const pushed = parseObjectId(await makeCommit(place.directory, 'another')) ?? unknown
  t.equal(await place.confirmed.has(repository, pushed), true)
})

t.test('In a repository that was made again under the same name, everything is looked up again', async (t) => {
  const place = await counted(t)
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  rmSync(place.directory, { recursive: true })
  await makeRepository(join(place.directory, '../..'), 'alice/hello')
  t.not(await place.confirmed.has(await found(place), place.commit), undefined)
  t.equal(place.lookUps, 2)
})

t.test('So it is in one that was put in the place of another', async (t) => {
  const place = await counted(t)
  const other = `${place.directory}.other`
  cpSync(place.directory, other, { recursive: true })
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  renameSync(place.directory, `${place.directory}.old`)
  renameSync(other, place.directory)
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  t.equal(place.lookUps, 2)
})

t.test('So it is in one that was emptied and made again in its place', async (t) => {
  const place = await counted(t)
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  for (const name of readdirSync(place.directory)) rmSync(join(place.directory, name), { recursive: true })
  await makeRepository(join(place.directory, '../..'), 'alice/hello')
  t.equal(await place.confirmed.has(await found(place), place.commit), false)
  t.equal(place.lookUps, 2)
})

t.test('Nothing is remembered after it was to be forgotten', async (t) => {
  const place = await counted(t)
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  place.confirmed.forget()
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  t.equal(place.lookUps, 2)
})

t.test('Nothing is remembered of a repository without an identity', async (t) => {
  const place = await counted(t)
  for (let times = 1; times <= 2; times++) {
    t.equal(await place.confirmed.has({ directory: place.directory, public: false }, place.commit), true)
    t.equal(place.lookUps, times)
  }
})

t.test('What is held open of a repository that was replaced in a moment confirms nothing in the new one', async (t) => {
  const place = await counted(t)
  const root = join(place.directory, '../..')
  const other = await makeRepository(root, 'alice/other')
  const otherCommit = parseObjectId(await makeCommit(other, 'only in the other')) ?? commitId('0')
  t.equal(await place.confirmed.has(await found(place), place.commit), true)
  renameSync(place.directory, `${place.directory}.old`)
  renameSync(other, place.directory)
  t.equal(await place.confirmed.has(await found(place), place.commit), false)
  t.equal(await place.confirmed.has(await found(place), otherCommit), true)
})

t.test('What another repository has is not told of the one whose place it takes, nor when it has gone', async (t) => {
  const place = await counted(t)
  const other = await makeRepository(place.folder.path, 'alice/other')
  const secret = parseObjectId(await makeCommit(other, 'of the other one')) ?? commitId('0')
  const change = (): void => {
    renameSync(place.directory, `${place.directory}.aside`)
    renameSync(other, place.directory)
    renameSync(`${place.directory}.aside`, other)
  }
  for (const isOpen of [false, true]) {
    const repository = await found(place)
    if (isOpen) await place.confirmed.has(repository, place.commit)
    change()
    await t.rejects(async () => await place.confirmed.has(repository, secret), RepositoryUnreadable)
    change()
    t.equal(await place.confirmed.has(await found(place), secret), false)
    t.equal(await place.confirmed.has(await found(place), place.commit), true)
    place.confirmed.forget()
  }
})
