import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { silentLogger } from '../../lib/parts/logger.js'
import { HttpServer } from '../../lib/stand-alone/http-server.js'
import { readSettings } from '../../lib/stand-alone/settings.js'

const run = promisify(execFile)

t.test('A client that had connected when the server was told to stop is answered, not reset', async (t) => {
  const { limits } = readSettings({ environment: {}, home: '/', directory: '/' })
  const server = new HttpServer((_request, response) => response.end('whole'), limits, silentLogger)
  const { port } = await server.listen(0, '127.0.0.1')
  const client = run(process.execPath, [
    '-e',
    `fetch('http://127.0.0.1:${port}').then(async (a) => console.log(await a.text()))`,
  ])
  // This process stands still until the client has connected and waits: the system alone knows of it.
  const established = ` 0100007F:${port.toString(16).padStart(4, '0')} [0-9A-F:]+ 01 `
  execFileSync('bash', ['-c', `until grep -qiE '${established}' /proc/net/tcp; do sleep 0.02; done`])
  await server.close()
  t.equal((await client).stdout, 'whole\n')
})
