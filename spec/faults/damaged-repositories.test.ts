// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { ObjectFormat } from '../../lib/domain/object-id.js'
import { formats, unknownId } from '../fixtures/finder.js'
import { git, makeCommit } from '../fixtures/git.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { asNobody, isNotRoot } from '../fixtures/nobody.js'
import { refused } from '../fixtures/refusal.js'
import { startService, type Answer, type TestService } from '../fixtures/service.js'
import { record } from './fault.js'

const UNREADABLE = 'the repository cannot be read at the moment'

interface Paths {
  readonly directory: string
  readonly objects: string
  readonly pack: string
  readonly index: string
  readonly multiPackIndex: string
  readonly loose: string
}

/** Damages after which nothing of what is packed can be told. */
const damages: Record<string, (paths: Paths) => void> = {
  'an empty objects folder': ({ objects }) => {
    rmSync(objects, { recursive: true })
    mkdirSync(objects)
  },
  'no objects folder': ({ objects }) => rmSync(objects, { recursive: true }),
  'a file in the place of objects': ({ objects }) => replace(objects, (path) => writeFileSync(path, '')),
  'no packs folder': ({ objects }) => rmSync(join(objects, 'pack'), { recursive: true }),
  'a cut pack': ({ pack }) => cut(pack, 0.5),
  'an empty pack': ({ pack }) => cut(pack, 0),
  'a folder in the place of a pack': ({ pack }) => replace(pack, mkdirSync),
  'a cut index': ({ index }) => cut(index, 0.5),
  'a folder in the place of an index': ({ index }) => replace(index, mkdirSync),
  'an unknown extension': ({ directory }) =>
    writeFileSync(
      join(directory, 'config'),
      '[core]\nbare = true\nrepositoryFormatVersion = 1\n[extensions]\nfromTheFuture = 1\n',
    ),
  'a format version of the future': ({ directory }) =>
    writeFileSync(join(directory, 'config'), '[core]\nbare = true\nrepositoryFormatVersion = 9\n'),
  'a config that is no config': ({ directory }) => writeFileSync(join(directory, 'config'), '[[[[\n'),
  'a folder in the place of alternates': ({ objects }) => mkdirSync(join(objects, 'info/alternates')),
  'a symbolic link loop in the place of objects': ({ objects }) => replace(objects, (path) => symlinkSync(path, path)),
  'a symbolic link loop in the place of a pack': ({ pack }) => replace(pack, (path) => symlinkSync(path, path)),
  'a named pipe in the place of config': ({ directory }) => replace(join(directory, 'config'), makePipe),
  'a named pipe in the place of HEAD': ({ directory }) => replace(join(directory, 'HEAD'), makePipe),
  'a named pipe in the place of alternates': ({ objects }) => makePipe(join(objects, 'info/alternates')),
  'a named pipe in the place of objects': ({ objects }) => replace(objects, makePipe),
  'a named pipe in the place of packs': ({ objects }) => replace(join(objects, 'pack'), makePipe),
  'a named pipe in the place of a pack': ({ pack }) => replace(pack, makePipe),
  'a named pipe in the place of an index': ({ index }) => replace(index, makePipe),
}

/** Damages of the one loose commit: whatever is packed can be told. */
const looseDamages: Record<string, (path: string) => void> = {
  'an empty file in the place of a loose object': (path) => cut(path, 0),
  'a folder in the place of a loose object': (path) => replace(path, mkdirSync),
  'a symbolic link loop in the place of a loose object': (path) => replace(path, () => symlinkSync(path, path)),
  'a named pipe in the place of a loose object': (path) => replace(path, makePipe),
  'a named pipe in the place of the folder of a loose object': (path) => replace(dirname(path), makePipe),
}

/** Keeps a share of a file's bytes. */
function cut(path: string, share: number): void {
  chmodSync(path, 0o600)
  truncateSync(path, Math.floor(readFileSync(path).length * share))
}

function replace(path: string, make: (path: string) => unknown): void {
  rmSync(path, { recursive: true })
  make(path)
}

function makePipe(path: string): void {
  execFileSync('mkfifo', [path])
}

interface Original {
  readonly directory: string
  readonly packed: string
  readonly loose: string
}

/** A public repository with packed commits, which a multi-pack-index lists or not, and a loose one. */
async function makeOriginal(
  folder: string,
  format: ObjectFormat,
  options: { multiPackIndex?: boolean } = {},
): Promise<Original> {
  const { directory, commits } = await makeRepositoryWithHistory(folder, `original-${format}`, { format })
  await git('-C', directory, 'repack', '-adq', ...(options.multiPackIndex ? ['--write-midx'] : []))
  const loose = await makeCommit(directory, 'loose', 'loose')
  writeFileSync(join(directory, 'git-daemon-export-ok'), '')
  return { directory, packed: commits[0] ?? '', loose }
}

function copy(original: Original, directory: string): Paths {
  cpSync(original.directory, directory, { recursive: true })
  const objects = join(directory, 'objects')
  const packs = join(objects, 'pack')
  const named = (ending: string): string => join(packs, readdirSync(packs).find((file) => file.endsWith(ending)) ?? '')
  return {
    directory,
    objects,
    pack: named('.pack'),
    index: named('.idx'),
    multiPackIndex: join(packs, 'multi-pack-index'),
    loose: join(objects, original.loose.slice(0, 2), original.loose.slice(2)),
  }
}

/** A 503 that says when to come back, and one line in the log that says which repository, and why. */
function unreadable(t: Test, service: TestService, answer: Answer, directory: string): void {
  refused(t, answer, 503, UNREADABLE)
  t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/)
  const lines = service.log.filter(
    (line) => line['level'] !== 20 && JSON.stringify(line).includes(String(answer.headers.get('x-request-id'))),
  )
  t.equal(lines.length, 1, 'one line in the log')
  t.match(JSON.stringify(lines), directory)
}

// libgit2 looks for the settings of the user that it was loaded by, in each opening: where nobody may do so, too.
process.env['HOME'] = tmpdir()

for (const format of formats) {
  t.test(
    `A repository that cannot be read is answered with 503 and a log line, and no other one is touched, ` +
      `format ${format}`,
    async (t) => {
      const service = await startService(t)
      const folder = join(service.repositories, 'alice')
      const original = await makeOriginal(join(service.folder, 'originals'), format, { multiPackIndex: true })
      copy(original, join(folder, 'well.git'))
      const cases = Object.keys({ ...damages, ...looseDamages }).map((name, number) => {
        const repository = `alice/damaged-${number}`
        const paths = copy(original, join(service.repositories, `${repository}.git`))
        damages[name]?.(paths)
        looseDamages[name]?.(paths.loose)
        const [bad, good] =
          name in damages ? [[original.packed, unknownId(format)], []] : [[original.loose], [original.packed]]
        return { name, repository, directory: paths.directory, bad, good }
      })
      const milliseconds: number[] = []
      const end = new AbortController()
      const well = (async () => {
        for (let turn = 0; !end.signal.aborted; turn++) {
          const begun = performance.now()
          const [sha, status] = turn % 2 ? [original.packed, 200] : [unknownId(format, turn), 404]
          const answer = await service.list('alice/well', sha)
          if (answer.status !== status) t.fail(`alice/well was answered with ${answer.status}`)
          milliseconds.push(performance.now() - begun)
        }
      })()
      const asked = cases.map(async ({ name, repository, directory, bad, good }) => {
        // More in all than there are threads for files, so that any that is held shows.
        const answers = await Promise.all([...bad, ...bad].map(async (sha) => await service.list(repository, sha)))
        await t.test(name, async (t) => {
          for (const answer of answers) unreadable(t, service, answer, directory)
          for (const sha of good)
            t.equal((await service.list(repository, sha)).status, 200, 'what can be read is found')
        })
      })
      await Promise.all(asked)
      end.abort()
      await well
      milliseconds.sort((one, other) => one - other)
      const [median = NaN, slowest = Infinity] = [milliseconds[milliseconds.length >> 1], milliseconds.at(-1)]
      t.comment(
        `${milliseconds.length} requests for another repository: median ${median.toFixed(1)} ms, slowest ` +
          `${slowest.toFixed(1)} ms`,
      )
      t.ok(slowest < 5000, 'another repository is answered all the time')
      record(t, `a damaged repository (${format})`, { injected: cases.length, acknowledged: milliseconds.length })
    },
  )

  t.test(`A multi-pack-index that is cut or corrupt hides no commit, format ${format}`, async (t) => {
    const service = await startService(t)
    const original = await makeOriginal(join(service.folder, 'originals'), format, { multiPackIndex: true })
    const whole = readFileSync(join(original.directory, 'objects/pack/multi-pack-index'))
    const count = new Map<string, number>()
    const ask = async (number: number, content: Buffer): Promise<void> => {
      const repository = `alice/index-${number}`
      const { multiPackIndex } = copy(original, join(service.repositories, `${repository}.git`))
      chmodSync(multiPackIndex, 0o600)
      writeFileSync(multiPackIndex, content)
      const [packed, loose, unknown] = await Promise.all(
        [original.packed, original.loose, unknownId(format)].map(
          async (sha) => (await service.list(repository, sha)).status,
        ),
      )
      const answers = `${packed} ${loose} ${unknown}`
      count.set(answers, (count.get(answers) ?? 0) + 1)
      if (!/^(?:200|503) 200 (?:404|503)$/.test(answers)) t.fail(`${answers}, number ${number}`)
    }
    const step = Math.ceil(whole.length / 20)
    for (let at = 0; at < whole.length; at += step) {
      const flipped = Buffer.from(whole)
      flipped.writeUInt8(flipped.readUInt8(at) ^ 0xff, at)
      await Promise.all([ask(2 * at, whole.subarray(0, at)), ask(2 * at + 1, flipped)])
    }
    t.comment(JSON.stringify([...count]))
    t.ok(count.size > 0)
  })

  t.test(`What the service may not read is answered with 503, format ${format}`, { skip: isNotRoot }, async (t) => {
    // Where everybody can reach it, as the checkout may be closed to nobody.
    const repositories = mkdtempSync(join(tmpdir(), 'commit-status-'))
    chmodSync(repositories, 0o755)
    t.teardown(() => {
      rmSync(repositories, { recursive: true })
    })
    const service = await startService(t, { settings: { repositories } })
    const original = await makeOriginal(join(service.folder, 'originals'), format)
    const forbidden: Record<string, (paths: Paths) => string> = {
      config: ({ directory }) => join(directory, 'config'),
      objects: ({ objects }) => objects,
      pack: ({ pack }) => pack,
      index: ({ index }) => index,
    }
    const names = Object.keys(forbidden)
    for (const [name, path] of Object.entries(forbidden))
      chmodSync(path(copy(original, join(repositories, `alice/${name}.git`))), 0)
    copy(original, join(repositories, 'alice/well.git'))
    const list = async (name: string): Promise<Answer> =>
      await asNobody(async () => await service.list(`alice/${name}`, original.packed))
    for (const name of names) unreadable(t, service, await list(name), join(repositories, `alice/${name}.git`))
    t.equal((await list('well')).status, 200)
  })
}
