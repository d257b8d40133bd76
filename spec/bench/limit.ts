import { createServer } from 'node:http'
import { argv } from 'node:process'

// What node:http itself can do, in a process of its own: it answers bytes that it was given, GET with the first, POST
// with the second after it has read and parsed the body. A request that names the right ETag gets a 304.

interface Canned {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

const [get, post] = (JSON.parse(argv[2] ?? '[]') as (Canned | null)[]).map(
  (canned) => canned && { ...canned, body: Buffer.from(canned.body) },
)

const server = createServer((request, response) => {
  if (request.method === 'POST' && post) {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(post.status, post.headers)
      response.end(post.body)
    })
  } else if (get) {
    response.writeHead(get.status, get.headers)
    response.end(get.body)
  }
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
