// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

const configurations: Record<string, (home: string) => void> = {
  'is nonsense': (home) => {
    writeFileSync(join(home, '.gitconfig'), '[core\n')
  },
  'is a folder': (home) => {
    mkdirSync(join(home, '.gitconfig'))
  },
  'asks for what libgit2 does not know': (home) => {
    writeFileSync(join(home, '.gitconfig'), '[core]\nrepositoryFormatVersion = 9\n[extensions]\nfromTheFuture = 1\n')
  },
}

for (const [name, make] of Object.entries(configurations)) {
  t.test(`A git configuration of the service's user that ${name} does not matter to any repository`, async (t) => {
    const folder = t.testdir({ home: {} })
    make(join(folder, 'home'))
    const place = new CommandPlace(folder)
    const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello', { public: true })
    const { url } = await place.serve(t, {
      environment: { HOME: join(folder, 'home'), XDG_CONFIG_HOME: join(folder, 'home') },
    })
    t.equal((await fetch(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)).status, 200)
  })
}
