import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { argv } from 'node:process'
import { Level } from 'level'
import { LRUCache } from 'lru-cache'
import { cacheShares } from '../../lib/contracts/cache-shares.js'
import { openedCommits } from './opened-commits.js'
import type { Recorded, Work } from './processes.js'

// What any service that is right must do, and nothing around it, in a process of its own. A list: two synchronous
// stats, and where lists are not in memory one scan; where nothing is known beforehand, the commit is confirmed by
// libgit2 and its list read, and both are remembered. A report: two stats, that confirmation, and with what arrives
// meanwhile one getMany and one batch that is fsynced.

interface Task extends Work {
  readonly repositories: string
  /** A copy of the service's. */
  readonly store: string
  readonly get: Recorded | undefined
  readonly post: Recorded | undefined
}

const { repositories, store, scans = false, remembers, get, post } = JSON.parse(argv[2] ?? '{}') as Task
const level = new Level(store)
await level.open()
const body = Buffer.from(get?.body ?? '')
const shares = cacheShares(remembers)
const lists = new LRUCache<string, Buffer>({ maxSize: shares.lists, sizeCalculation: ({ length }) => length + 500 })
const confirm = remembers === undefined ? undefined : openedCommits(shares.commits)

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

function look(directory: string): void {
  statSync(join(directory, 'git-daemon-export-ok'), { throwIfNoEntry: false })
  statSync(join(directory, 'objects'), { throwIfNoEntry: false })
}

async function scan(prefix: string): Promise<Buffer> {
  const iterator = level.iterator({ gte: prefix, lt: `${prefix}\uffff` })
  const entries = await iterator.nextv(32)
  await iterator.close()
  return Buffer.from(entries.map(([, value]) => value).join())
}

function send(response: ServerResponse, found: Buffer): void {
  response.writeHead(200, { ...get?.headers, 'content-length': String(found.length) })
  response.end(found)
}

async function read(prefix: string, response: ServerResponse, confirmed: Promise<void> | undefined): Promise<void> {
  await confirmed
  const found = await scan(prefix)
  if (confirm) lists.set(prefix, found)
  send(response, found)
}

function list(prefix: string, response: ServerResponse, confirmed: Promise<void> | undefined): void {
  const known = confirm && !confirmed ? lists.get(prefix) : undefined
  if (known) send(response, known)
  else if (confirm || scans) void read(prefix, response, confirmed)
  else {
    response.writeHead(get?.status ?? 200, get?.headers)
    response.end(body)
  }
}

function save(prefix: string, text: string, response: ServerResponse): void {
  const { context } = JSON.parse(text) as { context: string }
  waiting.push({ key: `${prefix}${context}`, response })
  if (!isWriting) void write()
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  // Of the API, or of a page.
  const [, , owner = '', repo = '', kind, id = ''] = String(request.url).replace('/api/v1', '').split('/')
  const name = `${owner}/${repo}`
  const directory = `${join(repositories, name)}.git`
  look(directory)
  const prefix = `${name}/${id}/`
  const confirmed = confirm?.(directory, id)
  if (kind === 'commits') {
    list(prefix, response, confirmed)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString()
    if (confirmed) void confirmed.then(() => save(prefix, text, response))
    else save(prefix, text, response)
  })
}

const server = createServer(answer)
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}`)
})
