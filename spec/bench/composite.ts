import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { argv } from 'node:process'
import { Level } from 'level'

// What node:http can do with the same raw operations on files and LevelDB, and nothing around them, in a process of its
// own. A list: two synchronous stats, and where lists are not in memory one scan. A report: two stats, and with what
// arrives meanwhile one getMany and one batch that is fsynced.

interface Canned {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

interface Work {
  readonly repositories: string
  /** A copy of the service's. */
  readonly store: string
  readonly scans: boolean
  readonly get: Canned | undefined
  readonly post: Canned | undefined
}

const { repositories, store, scans, get, post } = JSON.parse(argv[2] ?? '{}') as Work
const level = new Level(store)
await level.open()
const body = Buffer.from(get?.body ?? '')

/** What a report writes. */
const value = 'x'.repeat(300)
let waiting: { key: string; response: ServerResponse }[] = []
let isWriting = false

async function write(): Promise<void> {
  isWriting = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    await level.getMany(batch.map(({ key }) => key))
    await level.batch(
      batch.map(({ key }) => ({ type: 'put', key, value })),
      { sync: true },
    )
    for (const { response } of batch) {
      response.writeHead(post?.status ?? 201, post?.headers)
      response.end(post?.body)
    }
  }
  isWriting = false
}

function look(name: string): void {
  const directory = join(repositories, `${name}.git`)
  statSync(join(directory, 'git-daemon-export-ok'), { throwIfNoEntry: false })
  statSync(join(directory, 'objects'), { throwIfNoEntry: false })
}

async function scan(prefix: string, response: ServerResponse): Promise<void> {
  const iterator = level.iterator({ gte: prefix, lt: `${prefix}\uffff` })
  const entries = await iterator.nextv(32)
  await iterator.close()
  const found = Buffer.from(entries.map(([, value]) => value).join())
  response.writeHead(200, { ...get?.headers, 'content-length': String(found.length) })
  response.end(found)
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  // Of the API, or of a page.
  const [, , owner = '', repo = '', kind, id = ''] = String(request.url).replace('/api/v1', '').split('/')
  const name = `${owner}/${repo}`
  look(name)
  if (kind === 'commits') {
    if (scans) void scan(`${name}/${id}/`, response)
    else {
      response.writeHead(get?.status ?? 200, get?.headers)
      response.end(body)
    }
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { context } = JSON.parse(Buffer.concat(chunks).toString()) as { context: string }
    waiting.push({ key: `${name}/${id}/${context}`, response })
    if (!isWriting) void write()
  })
}

const server = createServer(answer)
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}`)
})
