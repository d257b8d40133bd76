import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { Connection, ListenedResponse } from '../../lib/stand-alone/connection.js'
import { requestHead } from '../fixtures/raw-socket.js'

t.test('Who has taken all that there is, is not cut off while the service takes its time for the rest', async (t) => {
  const part = Buffer.alloc(2_000_000, 'x')
  const server = createServer({ ServerResponse: ListenedResponse })
  const begun = new Promise<{ connection: Connection; response: ListenedResponse }>((resolve) => {
    server.on('connection', (socket) => {
      const connection = new Connection(socket, (_request, response) => {
        response.writeHead(200, { 'Content-Length': part.length + 1 })
        response.write(part)
      })
      server.on('request', (request, response) => {
        connection.take(request, response)
        resolve({ connection, response })
      })
      server.on('timeout', () => {
        connection.timedOut()
      })
    })
  })
  // A socket of this kind takes 200 kB that nobody reads.
  const folder = mkdtempSync(join(tmpdir(), 'connection-'))
  const path = join(folder, 'http')
  server.listen(path)
  t.teardown(() => {
    rmSync(folder, { recursive: true })
    server.close()
    server.closeAllConnections()
  })
  const client = connect(path)
  client.write(requestHead('GET', '/', { Connection: 'close' }))
  const { connection, response } = await begun
  t.ok(connection.unsentBytes > 0)
  connection.watch(0.3)
  const received = buffer(client)
  await once(server, 'timeout')
  t.equal(connection.unsentBytes, 0)
  response.end('y')
  t.equal((await received).toString('latin1').slice(-3), 'xxy')
})
