// Other users of the machine read the store. A folder for it that an admin had made, or a volume, let them in, and its
// files were as the umask of the service said: digests of tokens and statuses of private repositories were theirs.
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'

/** Permissions of the files of a store, as `chmod` takes them. */
function modesIn(folder: string): string[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map(({ name }) => (statSync(join(folder, name)).mode & 0o777).toString(8))
}

/** Whether nobody but the owner can read any file of the store. */
function isPrivate(t: Test, store: string, when: string): void {
  const modes = modesIn(store)
  t.ok(modes.length > 3)
  t.strictSame([...new Set(modes)], ['600'], when)
}

for (const umask of ['000', '022', '077'])
  t.test(`Under umask ${umask} nobody else reads a store in a folder that is open to others`, async (t) => {
    const place = new CommandPlace(t.testdir())
    const program = ['sh', '-c', `umask ${umask} && exec "$0" "$@"`, executable] as const
    mkdirSync(place.store)
    chmodSync(place.store, 0o755)
    t.match(await place.run(['token', 'create', 'alice'], { program }), { status: 0 })
    isPrivate(t, place.store, 'after a command that had the store to itself')

    // As a version that left it to the umask has made them.
    for (const name of readdirSync(place.store)) chmodSync(join(place.store, name), 0o644)
    const service = await place.serve(t, { program })
    t.match(await place.run(['token', 'create', 'bob']), { status: 0 })
    isPrivate(t, place.store, 'while the service runs')
    const { stdout } = await service.end('SIGTERM')
    isPrivate(t, place.store, 'and after it')
    t.match(stdout, /"level":40,.*"mode":"755","msg":"the folder of the store is open to others .*chmod it to 700"/)
    t.equal(statSync(place.store).mode & 0o777, 0o755, "the folder is the admin's")

    chmodSync(place.store, 0o700)
    const { stdout: silent } = await (await place.serve(t, { program })).end('SIGTERM')
    t.notMatch(silent, /open to others/)
  })
