import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import { HttpServer } from '../../lib/stand-alone/http-server.js'
import { readSettings } from '../../lib/stand-alone/settings.js'

const run = promisify(execFile)

/** As many as one listener may have waiting, and more than are taken in a turn of the event loop. */
const CLIENTS = 50

t.test('Clients that had connected when the server was told to stop are answered, not reset', async (t) => {
  const { limits } = readSettings({ environment: {}, home: '/', directory: '/' })
  const server = new HttpServer((_request, response) => response.end('whole'), limits, silentLogger)
  const { port = 0 } = (await server.listen({ port: 0, host: '127.0.0.1' })) ?? {}
  const client = run(process.execPath, [
    '-e',
    `const ask = async () => (await fetch('http://127.0.0.1:${port}')).text()
    Promise.all(Array.from({ length: ${CLIENTS} }, ask)).then((answers) => console.log(answers.join()))`,
  ])
  // This process stands still until the clients have connected and wait: the system alone knows of them.
  const established = ` 0100007F:${port.toString(16).padStart(4, '0')} [0-9A-F:]+ 01 `
  const count = `$(grep -ciE '${established}' /proc/net/tcp)`
  execFileSync('bash', ['-c', `until [ ${count} -ge ${CLIENTS} ]; do sleep 0.02; done`])
  await server.close()
  t.equal((await client).stdout, `${Array.from({ length: CLIENTS }, () => 'whole').join()}\n`)
})
